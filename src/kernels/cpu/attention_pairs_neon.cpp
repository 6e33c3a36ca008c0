#include <arm_neon.h>

#include <cstring>
#include <utility>

#include "kernels/cpu/attention_pairs.h"

namespace hone::kernels {
namespace {

constexpr int kLanes = 4;
constexpr int64_t kPanel = 2 * kLanes;

/// Multiplies `a` [rows, steps], or [steps, rows] where it is transposed.
template <int rows, int vectors, bool add, bool transposed>
__attribute__((target("arch=armv8.2-a+bf16"))) void multiply_pairs(const float* a, int64_t a_stride,
                                                                   const float* panel,
                                                                   int64_t steps, float* c,
                                                                   int64_t c_stride) {
  float32x4_t sums[rows][vectors];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = add ? vld1q_f32(c + r * c_stride + v * kLanes) : vdupq_n_f32(0.0f);
    }
  }
  for (int64_t i = 0; i < steps; ++i, panel += kPanel) {
    bfloat16x8_t b[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) b[v] = vreinterpretq_bf16_f32(vld1q_f32(panel + v * kLanes));
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
      uint32_t pair;
      std::memcpy(&pair, transposed ? a + i * a_stride + r : a + r * a_stride + i, sizeof(pair));
      const bfloat16x8_t x = vreinterpretq_bf16_u32(vdupq_n_u32(pair));
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[r][v] = vbfdotq_f32(sums[r][v], b[v], x);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) vst1q_f32(c + r * c_stride + v * kLanes, sums[r][v]);
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
