#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prep/dictionary.h"
#include "prep/spill.h"

namespace hone::prep {

/// Texts of which each is kept once. Those with the same hash are compared, word by word. An
/// entry's label is the one that most of its copies have, the lower where two are as common, so
/// that the order in which texts come does not matter.
class Merger {
 public:
  explicit Merger(const Dictionary& dictionary) : dictionary_(dictionary) {}

  /// Drops all texts.
  void clear();
  void add(const TextHead& head, std::span<const uint16_t> codes);

  /// Puts the entries into the order of their hashes; those of one hash, of their words.
  void sort();
  size_t size() const { return entries_.size(); }
  /// Gives the i-th entry, and its codes.
  TextHead head(size_t i) const;
  std::span<const uint16_t> codes(size_t i) const { return codes(entries_[i]); }

 private:
  struct Entry {
    data::Hash128 hash{};
    uint64_t offset = 0;  ///< where its codes begin in codes_
    uint32_t units = 0;
    uint32_t number = 0;  ///< its place in the order of coming
    float label = 0;
    uint32_t copies = 0;  ///< how many had this label, where all have one
  };
  using Votes = std::map<float, int64_t>;

  std::span<const uint16_t> codes(const Entry& entry) const {
    return {codes_.data() + entry.offset, entry.units};
  }
  void vote(Entry& entry, float label);
  void grow();

  const Dictionary& dictionary_;
  std::vector<Entry> entries_;
  std::vector<uint16_t> codes_;
  std::vector<uint32_t> slots_;      ///< an open table of entries + 1, by hash
  std::map<uint32_t, Votes> votes_;  ///< labels of the few entries whose copies have several
};

}  // namespace hone::prep
