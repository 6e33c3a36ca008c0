#pragma once

#include <cstdint>
#include <vector>

#include "text/bpe_merges.h"
#include "text/model.h"

namespace hone::text {

/// The symbols of one word while they merge. A thread keeps one from word to word, so that a word
/// needs no allocation.
class BpeWord {
 public:
  void clear() { symbols_.clear(); }
  void add(int32_t id, uint32_t length) { symbols_.push_back({id, length}); }

  /// Merges until no neighbours merge: the lowest rank first, the leftmost of equal ranks before
  /// others.
  void merge(const BpeMerges& merges);

  /// Appends what is left, at running offsets.
  void emit(std::vector<Piece>& out) const {
    uint32_t begin = 0;
    for (const Symbol& symbol : symbols_) {
      out.push_back({symbol.id, begin, begin + symbol.length});
      begin += symbol.length;
    }
  }

 private:
  struct Symbol {
    int32_t id;
    uint32_t length;  ///< counts bytes; 0 once merged into its left neighbour
  };
  struct Links {
    int32_t previous;
    int32_t next;  ///< -1 at the end
  };
  struct Candidate {
    uint32_t rank;
    int32_t position;
    int32_t id;
  };
  static constexpr size_t short_symbols = 40;

  void merge_short(const BpeMerges& merges);
  void merge_long(const BpeMerges& merges);
  void push(const BpeMerges& merges, int32_t left, int32_t right);
  void join(const BpeMerges& merges, const Candidate& candidate);

  std::vector<Symbol> symbols_;
  std::vector<Links> links_;
  std::vector<Candidate> heap_;
};

}  // namespace hone::text
