#include "kernels/cpu/attention_pairs.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#include <utility>

namespace hone::kernels {
namespace {

constexpr int kLanes = 16;

template <int rows, bool add>
__attribute__((target("avx512f,avx512bf16"))) void multiply_pairs(const float* a, int64_t a_stride,
                                                                  const float* panel, int64_t steps,
                                                                  float* c, int64_t c_stride) {
  __m512 low[rows], high[rows];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
    low[r] = add ? _mm512_loadu_ps(c + r * c_stride) : _mm512_setzero_ps();
    high[r] = add ? _mm512_loadu_ps(c + r * c_stride + kLanes) : _mm512_setzero_ps();
  }
  for (int64_t i = 0; i < steps; ++i, panel += 2 * kLanes) {
    const __m512bh b0 = (__m512bh)_mm512_loadu_si512(panel);
    const __m512bh b1 = (__m512bh)_mm512_loadu_si512(panel + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
      int32_t pair;
      std::memcpy(&pair, a + r * a_stride + i, sizeof(pair));
      const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
      low[r] = _mm512_dpbf16_ps(low[r], x, b0);
      high[r] = _mm512_dpbf16_ps(high[r], x, b1);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
    _mm512_storeu_ps(c + r * c_stride, low[r]);
    _mm512_storeu_ps(c + r * c_stride + kLanes, high[r]);
  }
}

template <bool add, int... rows>
PanelProduct* choose_rows(int64_t count, std::integer_sequence<int, rows...>) {
  static constexpr PanelProduct* table[] = {&multiply_pairs<rows + 1, add>...};
  return table[count - 1];
}

}  // namespace

PanelProduct* bf16_pair_product(int64_t rows, bool add) {
  constexpr auto counts = std::make_integer_sequence<int, AttentionTiles::kRows>();
  return add ? choose_rows<true>(rows, counts) : choose_rows<false>(rows, counts);
}

}  // namespace hone::kernels
#else
namespace hone::kernels {

PanelProduct* bf16_pair_product(int64_t, bool) { return nullptr; }

}  // namespace hone::kernels
#endif
