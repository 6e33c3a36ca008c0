#include <algorithm>

#include "base/error.h"
#include "text/encoding.h"

namespace hone::text {
namespace {

void cut_to(TokenList& list, size_t size, Truncation::Direction direction) {
  if (list.ids.size() <= size) return;
  if (direction == Truncation::Direction::left) {
    const size_t gone = list.ids.size() - size;
    list.ids.erase(list.ids.begin(), list.ids.begin() + static_cast<ptrdiff_t>(gone));
    list.offsets.erase(list.offsets.begin(), list.offsets.begin() + static_cast<ptrdiff_t>(gone));
    std::erase_if(list.odd, [&](const auto& odd) { return odd.first < gone; });
    for (auto& odd : list.odd) odd.first -= static_cast<uint32_t>(gone);
    return;
  }
  list.ids.resize(size);
  list.offsets.resize(size);
  std::erase_if(list.odd, [&](const auto& odd) { return odd.first >= size; });
}

/// Gives the shares of two lists whose sum is over `room`: the longer one gives first.
std::pair<size_t, size_t> shares(size_t first, size_t second, size_t room) {
  size_t low = std::min(first, second);
  size_t high = low > room ? low : std::max(low, room - low);
  if (low + high > room) {
    low = room / 2;
    high = low + room % 2;
  }
  return first > second ? std::pair(high, low) : std::pair(low, high);
}

}  // namespace

void truncate(const Truncation& truncation, size_t room, TokenList& first, TokenList* second) {
  using Strategy = Truncation::Strategy;
  const size_t total = first.ids.size() + (second ? second->ids.size() : 0);
  if (total <= room) return;
  if (room == 0) {
    cut_to(first, 0, truncation.direction);
    if (second) cut_to(*second, 0, truncation.direction);
    return;
  }
  if (truncation.strategy == Strategy::longest_first) {
    if (!second) return cut_to(first, room, truncation.direction);
    const auto [size_a, size_b] = shares(first.ids.size(), second->ids.size(), room);
    cut_to(first, size_a, truncation.direction);
    cut_to(*second, size_b, truncation.direction);
    return;
  }
  const bool only_first = truncation.strategy == Strategy::only_first;
  if (!only_first && !second) {
    fail(ErrorKind::usage, "truncation strategy only_second: there is no second text");
  }
  TokenList& target = only_first ? first : *second;
  const size_t gone = total - room;
  if (target.ids.size() <= gone) {
    fail(ErrorKind::usage, "truncation strategy {}: that text has {} tokens, but {} must go",
         only_first ? "only_first" : "only_second", target.ids.size(), gone);
  }
  cut_to(target, target.ids.size() - gone, truncation.direction);
}

}  // namespace hone::text
