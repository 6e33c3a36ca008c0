#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/aligned_text.h"

namespace hone::text {

/// Token to id and back, made for WordPiece: the hash of a prefix is a step on the way to the hash
/// of the whole, so all prefixes of a word cost one pass.
class VocabTable {
 public:
  /// `file` names the source in errors.
  VocabTable(const std::vector<std::pair<std::string, int32_t>>& vocab, const std::string& file);

  static constexpr uint64_t kEmptyHash = 0xCBF29CE484222325u;
  static uint64_t extend(uint64_t hash, char byte) {
    return (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  }

  int32_t id_of(std::string_view token) const;
  /// Gives the id of prefix + text, whose hash is known, or -1.
  int32_t find(uint64_t hash, std::string_view prefix, std::string_view text) const {
    for (size_t at = slot_of(hash);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.id < 0) return -1;
      if (slot.tag != static_cast<uint32_t>(hash) || slot.size != prefix.size() + text.size()) {
        continue;
      }
      const std::string_view token(bytes_.data() + slot.begin, slot.size);
      if (token.substr(prefix.size()) == text && token.substr(0, prefix.size()) == prefix) {
        return slot.id;
      }
    }
  }
  std::string_view token_of(int32_t id) const;
  size_t size() const { return count_; }
  /// Bytes of the longest token.
  size_t longest() const { return longest_; }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t begin = 0;
    uint32_t size = 0;
    int32_t id = -1;
  };
  size_t slot_of(uint64_t hash) const { return (hash ^ (hash >> 29)) & mask_; }
  void insert(const std::string& token, int32_t id, const std::string& file);

  std::string bytes_;
  std::vector<Slot> slots_;
  std::vector<Span> by_id_;
  size_t mask_ = 0;
  size_t count_ = 0;
  size_t longest_ = 0;
};

}  // namespace hone::text
