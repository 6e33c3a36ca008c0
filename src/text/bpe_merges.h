#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/vocab_table.h"

namespace hone::text {

/// Maps a pair of ids to rank and merged id, in one open-addressed table.
class BpeMerges {
 public:
  struct Merge {
    uint32_t rank;
    int32_t id;
  };
  static constexpr uint32_t no_merge = UINT32_MAX;

  BpeMerges(const std::vector<std::pair<std::string, std::string>>& merges, const VocabTable& vocab,
            const std::string& continuing_subword_prefix, const std::string& file);

  /// Gives how a pair merges; rank is no_merge where it does not.
  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = hash(key);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.key == key || slot.merge.rank == no_merge) return slot.merge;
    }
  }
  /// Says whether every merge makes a longer token and every id is one token's, so that a pair of
  /// ids that has merged does not come back in its place.
  bool always_grow() const { return always_grow_; }

 private:
  struct Slot {
    uint64_t key = UINT64_MAX;
    Merge merge{no_merge, -1};
  };
  void insert(uint64_t key, Merge merge, const std::string& file);
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t hash(uint64_t key) const {
    key *= 0xD6E8FEB86659FD93u;
    return static_cast<size_t>(((key ^ key >> 32) * 0x9E3779B97F4A7C15u) >> shift_);
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int shift_ = 0;
  bool always_grow_ = true;
};

}  // namespace hone::text
