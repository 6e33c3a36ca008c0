#include "text/bpe_word.h"

#include <algorithm>

namespace hone::text {
namespace {

/// Heap order: the top is the lowest rank, then the lowest position.
constexpr auto later = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
};

}  // namespace

void BpeWord::merge(const BpeMerges& merges) {
  if (symbols_.size() < 2) return;
  if (symbols_.size() <= short_symbols && merges.always_grow()) {
    merge_short(merges);
  } else {
    merge_long(merges);
  }
}

/// This is quadratic, but faster than a heap for the length of usual words.
void BpeWord::merge_short(const BpeMerges& merges) {
  BpeMerges::Merge pairs[short_symbols];
  size_t last = symbols_.size() - 1;  // index of the last symbol = number of pairs
  for (size_t i = 0; i < last; ++i) pairs[i] = merges.find(symbols_[i].id, symbols_[i + 1].id);
  while (last > 0) {
    size_t best = 0;
    for (size_t i = 1; i < last; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == BpeMerges::no_merge) break;
    symbols_[best].id = pairs[best].id;
    symbols_[best].length += symbols_[best + 1].length;
    std::copy(symbols_.begin() + static_cast<ptrdiff_t>(best) + 2,
              symbols_.begin() + static_cast<ptrdiff_t>(last) + 1,
              symbols_.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(pairs + best + 1, pairs + last, pairs + best);
    --last;
    if (best < last) pairs[best] = merges.find(symbols_[best].id, symbols_[best + 1].id);
    if (best > 0) pairs[best - 1] = merges.find(symbols_[best - 1].id, symbols_[best].id);
  }
  symbols_.resize(last + 1);
}

void BpeWord::push(const BpeMerges& merges, int32_t left, int32_t right) {
  const BpeMerges::Merge found =
      merges.find(symbols_[static_cast<size_t>(left)].id, symbols_[static_cast<size_t>(right)].id);
  if (found.rank == BpeMerges::no_merge) return;
  heap_.push_back({found.rank, left, found.id});
}

void BpeWord::merge_long(const BpeMerges& merges) {
  const auto count = static_cast<int32_t>(symbols_.size());
  links_.resize(symbols_.size());
  for (int32_t i = 0; i < count; ++i) {
    links_[static_cast<size_t>(i)] = {i - 1, i + 1 < count ? i + 1 : -1};
  }
  heap_.clear();
  for (int32_t i = 0; i + 1 < count; ++i) push(merges, i, i + 1);
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    const Candidate top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    join(merges, top);
  }
  std::erase_if(symbols_, [](const Symbol& symbol) { return symbol.length == 0; });
}

/// Carries out a candidate unless its symbols have changed since. What counts as unchanged is the
/// merged id, not the pair, as in `tokenizers`.
void BpeWord::join(const BpeMerges& merges, const Candidate& candidate) {
  const auto position = static_cast<size_t>(candidate.position);
  Symbol& left = symbols_[position];
  Links& links = links_[position];
  if (left.length == 0 || links.next < 0) return;
  Symbol& right = symbols_[static_cast<size_t>(links.next)];
  const BpeMerges::Merge now = merges.find(left.id, right.id);
  if (now.rank == BpeMerges::no_merge || now.id != candidate.id) return;
  left = {candidate.id, left.length + right.length};
  right.length = 0;
  links.next = links_[static_cast<size_t>(links.next)].next;
  if (links.next >= 0) links_[static_cast<size_t>(links.next)].previous = candidate.position;
  const auto add = [&](int32_t a, int32_t b) {
    const size_t before = heap_.size();
    push(merges, a, b);
    if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end(), later);
  };
  if (links.previous >= 0) add(links.previous, candidate.position);
  if (links.next >= 0) add(candidate.position, links.next);
}

}  // namespace hone::text
