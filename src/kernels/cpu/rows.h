#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/thread_pool.h"

namespace hone::kernels {

/// Calls body(begin, end) over ranges that cover rows 0..rows-1 once, in parallel, a few
/// thousand elements a range: below that a thread costs more than it brings. A body of three
/// arguments gets the worker too.
template <typename Body>
void for_row_ranges(int64_t rows, int64_t width, ThreadPool& pool, const Body& body) {
  constexpr int64_t kElements = 8192;
  const int64_t chunk = std::max<int64_t>(1, kElements / std::max<int64_t>(1, width));
  pool.run((rows + chunk - 1) / chunk, [&](int64_t task, int worker) {
    const int64_t begin = task * chunk, end = std::min(rows, begin + chunk);
    if constexpr (std::is_invocable_v<Body, int64_t, int64_t, int>) {
      body(begin, end, worker);
    } else {
      body(begin, end);
    }
  });
}

/// out row i = in row index[i], for i < count. A row is `row_bytes` long; input rows lie
/// `row_stride` bytes apart, output rows are dense. Indices are in range; out overlaps nothing.
void gather_rows(const void* in, int64_t row_stride, const int32_t* index, int64_t count,
                 int64_t row_bytes, void* out, ThreadPool& pool);

}  // namespace hone::kernels
