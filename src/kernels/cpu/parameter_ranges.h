#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/adamw.h"

namespace hone::kernels {

/// Calls body(begin, end, range) over pieces of the ranges, in parallel, each element once.
template <typename Body>
void for_parameter_pieces(ParameterRanges ranges, ThreadPool& pool, const Body& body) {
  if (ranges.count == 0) return;
  constexpr int64_t kPiece = 32768;
  const int64_t first = ranges.data[0].begin;
  const int64_t end = ranges.data[ranges.count - 1].end;
  const ParameterRange* last = ranges.data + ranges.count;
  pool.run((end - first + kPiece - 1) / kPiece, [&](int64_t task, int) {
    const int64_t from = first + task * kPiece, to = std::min(end, from + kPiece);
    const auto* range = std::upper_bound(ranges.data, last, from,
                                         [](int64_t at, const auto& r) { return at < r.end; });
    for (; range != last && range->begin < to; ++range) {
      const int64_t begin = std::max(from, range->begin);
      if (begin < std::min(to, range->end)) body(begin, std::min(to, range->end), *range);
    }
  });
}

}  // namespace hone::kernels
