#include "kernels/cpu/attention_pairs.h"

#include <immintrin.h>

#include <cstring>
#include <utility>

namespace hone::kernels {
namespace {

constexpr int kLanes = 16;

/// Multiplies `a` [rows, steps], or [steps, rows] where it is transposed.
template <int rows, int vectors, bool add, bool transposed>
__attribute__((target("avx512f,avx512bf16"))) void multiply_pairs(const float* a, int64_t a_stride,
                                                                  const float* panel, int64_t steps,
                                                                  float* c, int64_t c_stride) {
  __m512 sums[rows][vectors];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = add ? _mm512_loadu_ps(c + r * c_stride + v * kLanes) : _mm512_setzero_ps();
    }
  }
  for (int64_t i = 0; i < steps; ++i, panel += AttentionTiles::kPanel) {
    __m512bh b[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) b[v] = (__m512bh)_mm512_loadu_si512(panel + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
      int32_t pair;
      std::memcpy(&pair, transposed ? a + i * a_stride + r : a + r * a_stride + i, sizeof(pair));
      const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], x, b[v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) _mm512_storeu_ps(c + r * c_stride + v * kLanes, sums[r][v]);
  }
}

template <int vectors, bool add, bool transposed, int... rows>
PanelProduct* choose_rows(int64_t count, std::integer_sequence<int, rows...>) {
  static constexpr PanelProduct* table[] = {&multiply_pairs<rows + 1, vectors, add, transposed>...};
  return table[count - 1];
}

constexpr auto kRowCounts = std::make_integer_sequence<int, AttentionTiles::kRows>();

}  // namespace

PanelProduct* bf16_pair_product(int64_t rows, int64_t columns, bool add) {
  if (columns <= kLanes) {
    return add ? choose_rows<1, true, false>(rows, kRowCounts)
               : choose_rows<1, false, false>(rows, kRowCounts);
  }
  return add ? choose_rows<2, true, false>(rows, kRowCounts)
             : choose_rows<2, false, false>(rows, kRowCounts);
}

PanelProduct* bf16_pair_product_transposed(int64_t rows, int64_t columns) {
  return columns <= kLanes ? choose_rows<1, true, true>(rows, kRowCounts)
                           : choose_rows<2, true, true>(rows, kRowCounts);
}

}  // namespace hone::kernels
