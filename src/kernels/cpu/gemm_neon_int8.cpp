// The int8 micro-kernel of NEON without dot products of bytes. Products of bytes have 16 bits, and
// two of them are added there before they go to sums of 32: bytes of A come less 128, as numbers
// from -128 to 127, so that two products by bytes from -127 to 127 stay below 2^15. The sums of A
// less 128 are put right with the row's zero, in gemm_finish.cpp: results are those of all other
// kernels to the bit.

#include <arm_neon.h>

#include "kernels/cpu/gemm_kernel.h"

namespace hone::kernels {
namespace {

constexpr int64_t kPanel = 8;
constexpr int64_t kColumns = kPanel * 4;  // bytes of a group of all columns
// A column has two sums, of the even and the odd pairs of k, until the end: 16 registers hold them.
constexpr int kTileRows = 4;

int8x16_t group_of(int8x16_t row, int lane) {
  return vreinterpretq_s8_s32(vdupq_n_s32(vreinterpretq_s32_s8(row)[lane]));
}

/// pairs[0] += columns 0 and 1 of both groups, pairs[1] += columns 2 and 3.
void add_products(int8x16_t x0, int8x16_t b0, int8x16_t x1, int8x16_t b1, int32x4_t (&pairs)[2]) {
  const int16x8_t low = vmull_s8(vget_low_s8(b0), vget_low_s8(x0));
  pairs[0] = vpadalq_s16(pairs[0], vmlal_s8(low, vget_low_s8(b1), vget_low_s8(x1)));
  const int16x8_t high = vmull_high_s8(b0, x0);
  pairs[1] = vpadalq_s16(pairs[1], vmlal_high_s8(high, b1, x1));
}

template <int rows>
void multiply_rows(const int8_t* a, int64_t lda, const int8_t* b, int64_t k, bool add,
                   int32_t* out) {
  int32x4_t pairs[rows][2][2];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    pairs[r][0][0] = pairs[r][0][1] = pairs[r][1][0] = pairs[r][1][1] = vdupq_n_s32(0);
  }
  for (int64_t i = 0; i < k; i += 16, a += 16) {
    int8x16_t x[rows];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) x[r] = vld1q_s8(a + r * lda);
#pragma GCC unroll 2
    for (int lane = 0; lane < 4; lane += 2, b += 2 * kColumns) {
      const int8x16_t b00 = vld1q_s8(b), b01 = vld1q_s8(b + 16);
      const int8x16_t b10 = vld1q_s8(b + kColumns), b11 = vld1q_s8(b + kColumns + 16);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const int8x16_t x0 = group_of(x[r], lane), x1 = group_of(x[r], lane + 1);
        add_products(x0, b00, x1, b10, pairs[r][0]);
        add_products(x0, b01, x1, b11, pairs[r][1]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r, out += kPanel) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const int32x4_t sums = vpaddq_s32(pairs[r][v][0], pairs[r][v][1]);
      vst1q_s32(out + 4 * v, add ? vaddq_s32(sums, vld1q_s32(out + 4 * v)) : sums);
    }
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

void copy_row_less_128(const void* from, int64_t k, void* to) {
  const auto* row = static_cast<const uint8_t*>(from);
  auto* out = static_cast<uint8_t*>(to);
  int64_t i = 0;
  for (; i + 16 <= k; i += 16) {
    vst1q_u8(out + i, veorq_u8(vld1q_u8(row + i), vdupq_n_u8(0x80)));
  }
  for (; i < k; ++i) out[i] = row[i] ^ 0x80;
}

const GemmKernel* gemm_neon_int8_kernel() {
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
