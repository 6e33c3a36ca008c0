#include "comm/tree_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace hone::comm {
namespace {

template <typename T>
void sum_block(const T* const* from, int count, int64_t begin, int64_t length, T* out) {
  const T* a = from[0] + begin;
  if (count == 1) {
    std::memmove(out, a, static_cast<size_t>(length) * sizeof(T));
    return;
  }
  const T* b = from[1] + begin;
  if (count == 2) {
    for (int64_t i = 0; i < length; ++i) out[i] = a[i] + b[i];
    return;
  }
  if (count == 4) {
    const T* c = from[2] + begin;
    const T* d = from[3] + begin;
    for (int64_t i = 0; i < length; ++i) out[i] = (a[i] + b[i]) + (c[i] + d[i]);
    return;
  }
  const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
  std::array<T, kSumBlock> first;
  std::array<T, kSumBlock> second;
  sum_block(from, left, begin, length, first.data());
  sum_block(from + left, count - left, begin, length, second.data());
  for (size_t i = 0; i < static_cast<size_t>(length); ++i) out[i] = first[i] + second[i];
}

}  // namespace

void tree_sum(const float* const* from, int count, int64_t begin, int64_t length, float* out) {
  sum_block(from, count, begin, length, out);
}

void tree_sum(const double* const* from, int count, int64_t begin, int64_t length, double* out) {
  sum_block(from, count, begin, length, out);
}

template <typename T>
void tree_sum_to_all(const T* const* from, T* const* to, int count, int64_t begin, int64_t end) {
  std::array<T, kSumBlock> sums;
  for (int64_t at = begin; at < end; at += kSumBlock) {
    const int64_t length = std::min(kSumBlock, end - at);
    sum_block(from, count, at, length, sums.data());
    for (int k = 0; k < count; ++k) {
      std::memcpy(to[k] + at, sums.data(), static_cast<size_t>(length) * sizeof(T));
    }
  }
}

template void tree_sum_to_all(const float* const*, float* const*, int, int64_t, int64_t);
template void tree_sum_to_all(const double* const*, double* const*, int, int64_t, int64_t);

}  // namespace hone::comm
