#pragma once

#include <immintrin.h>

#include "kernels/cpu/gemm_kernel.h"

/// The micro-kernel of AVX-512 for dot products of 32 bits: pairs of bf16, four bytes. It is
/// gemm_f32.cpp's with a group of k in the place of one: a register holds the groups of 16 columns,
/// and a row's group is broadcast to it.
///
/// Dot: its Sum is a register of sums; load(from), store(to, sum), zero(), and dot(sum, rows,
/// columns) = sum + rows * columns. Dot is local to the source that includes this, and so are then
/// these functions: they are compiled for its instruction set.
namespace hone::kernels::groups {

constexpr int kTileRows = 14;
constexpr int64_t kPanel = 32;
constexpr int64_t kLanes = 16;
constexpr int64_t kGroup = 4;  // bytes

/// Multiplies; `stride` is in bytes, because rows need not be aligned to groups.
template <class Dot, int rows>
void multiply_rows(const char* a, int64_t stride, const char* b, int64_t steps, bool add, char* out,
                   GemmFetch fetch) {
  constexpr int kPointers = (rows + 2) / 3;
  constexpr int64_t kVector = kLanes * kGroup;
  const char* p[kPointers];
  typename Dot::Sum sums[rows][2];
#pragma GCC unroll 8
  for (int i = 0; i < kPointers; ++i) p[i] = a + 3 * i * stride;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sums[r][0] = add ? Dot::load(out + r * 2 * kVector) : Dot::zero();
    sums[r][1] = add ? Dot::load(out + r * 2 * kVector + kVector) : Dot::zero();
  }
  for (int64_t i = 0; i < steps; ++i) {
    __builtin_prefetch(fetch.next, 0, 2);
    fetch.next += fetch.stride;
    const __m512i b0 = _mm512_load_si512(b);
    const __m512i b1 = _mm512_load_si512(b + kVector);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      int group;
      __builtin_memcpy(&group, p[r / 3] + r % 3 * stride, sizeof group);
      const __m512i x = _mm512_set1_epi32(group);
      sums[r][0] = Dot::dot(sums[r][0], x, b0);
      sums[r][1] = Dot::dot(sums[r][1], x, b1);
    }
#pragma GCC unroll 8
    for (int j = 0; j < kPointers; ++j) p[j] += kGroup;
    b += 2 * kVector;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    Dot::store(out + r * 2 * kVector, sums[r][0]);
    Dot::store(out + r * 2 * kVector + kVector, sums[r][1]);
  }
}

template <class Dot, typename Element, int rows = kTileRows>
void multiply(int64_t wanted, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              void* sums, GemmFetch fetch) {
  constexpr int64_t kSize = sizeof(Element);
  if (wanted == rows) {
    multiply_rows<Dot, rows>(static_cast<const char*>(a), lda * kSize, static_cast<const char*>(b),
                             k * kSize / kGroup, add, static_cast<char*>(sums), fetch);
  } else if constexpr (rows > 1) {
    multiply<Dot, Element, rows - 1>(wanted, a, lda, b, k, add, sums, fetch);
  }
}

}  // namespace hone::kernels::groups
