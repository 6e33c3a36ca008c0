// The int8 micro-kernel of ARM's dot products of bytes. They take both sides signed: bytes of A
// come less 128, as in gemm_neon_int8.cpp.

#include <arm_neon.h>

#include "kernels/cpu/gemm_kernel.h"

namespace hone::kernels {
namespace {

constexpr int64_t kPanel = 8;
constexpr int64_t kColumns = kPanel * 4;  // bytes of a group of all columns
constexpr int kTileRows = 8;              // 16 of 32 registers hold sums, 8 rows of A

/// sums(r) += group `lane` of row r times the same group of the panel's columns.
template <int lane, int rows>
void add_group(const int8x16_t (&x)[rows], const int8_t* b, int32x4_t (&sums)[rows][2]) {
  const int8x16_t b0 = vld1q_s8(b + lane * kColumns);
  const int8x16_t b1 = vld1q_s8(b + lane * kColumns + 16);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    sums[r][0] = vdotq_laneq_s32(sums[r][0], b0, x[r], lane);
    sums[r][1] = vdotq_laneq_s32(sums[r][1], b1, x[r], lane);
  }
}

template <int rows>
void multiply_rows(const int8_t* a, int64_t lda, const int8_t* b, int64_t k, bool add,
                   int32_t* out) {
  int32x4_t sums[rows][2];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    sums[r][0] = add ? vld1q_s32(out + r * kPanel) : vdupq_n_s32(0);
    sums[r][1] = add ? vld1q_s32(out + r * kPanel + 4) : vdupq_n_s32(0);
  }
  for (int64_t i = 0; i < k; i += 16, a += 16, b += 4 * kColumns) {
    int8x16_t x[rows];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) x[r] = vld1q_s8(a + r * lda);
    add_group<0>(x, b, sums);
    add_group<1>(x, b, sums);
    add_group<2>(x, b, sums);
    add_group<3>(x, b, sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    vst1q_s32(out + r * kPanel, sums[r][0]);
    vst1q_s32(out + r * kPanel + 4, sums[r][1]);
  }
}

template <int rows = kTileRows>
void multiply(int64_t wanted, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              void* sums, GemmFetch fetch) {
  if (wanted == rows) {
    multiply_rows<rows>(static_cast<const int8_t*>(a), lda, static_cast<const int8_t*>(b), k, add,
                        static_cast<int32_t*>(sums));
  } else if constexpr (rows > 1) {
    multiply<rows - 1>(wanted, a, lda, b, k, add, sums, fetch);
  }
}

}  // namespace

const GemmKernel* gemm_neon_dotprod_kernel() {
  static constexpr GemmKernel kKernel = {
      .tile_rows = kTileRows,
      .row_unit = 1,
      .k_unit = kInt8Depth,
      .whole = 400 << 10,
      .slice = 3072,
      .fetches_next = false,
      .fetches_ahead = false,
      .k_step = 16,
      .a_size = sizeof(int8_t),
      .copies_a = true,
      .copy_row = &copy_row_less_128,
      .multiply = &multiply<>,
      .begin = nullptr,
      .end = nullptr,
  };
  return &kKernel;
}

}  // namespace hone::kernels
