#pragma once

#include <cstdint>

namespace hone::comm {

/// Sums run over at most so many elements at one time, which the first-level cache holds.
constexpr int64_t kSumBlock = 1024;

/// out[i] = from[0][begin + i] + ... + from[count - 1][begin + i] for i below `length`, which is at
/// most kSumBlock. The order is that of a binary tree over `count` (halves of the largest power of
/// two below it first), whatever `begin` and `length` are: where ranks are a power of two, the sum
/// of each half's sums has the same bits. `out` may be one of the sources' elements.
void tree_sum(const float* const* from, int count, int64_t begin, int64_t length, float* out);
void tree_sum(const double* const* from, int count, int64_t begin, int64_t length, double* out);

/// Does the same over any length, and writes the sums to all of `to`, at the same places; `to` may
/// be the sources.
template <typename T>
void tree_sum_to_all(const T* const* from, T* const* to, int count, int64_t begin, int64_t end);

}  // namespace hone::comm
