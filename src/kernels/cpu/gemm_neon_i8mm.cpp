// The int8 micro-kernel of ARM's I8MM: bytes of A from 0 to 255 by bytes of the weight from -127 to
// 127, as they are.

#include "kernels/cpu/gemm_neon_squares-inl.h"

namespace hone::kernels {
namespace {

struct ByteSquare {
  using Sum = int32x4_t;
  using Bytes = uint8x16_t;
  static Bytes bytes(uint8x16_t bits) { return bits; }
  static Sum sum(uint8x16_t bits) { return vreinterpretq_s32_u8(bits); }
  static uint8x16_t bits(Sum sum) { return vreinterpretq_u8_s32(sum); }
  static Sum zero() { return vdupq_n_s32(0); }
  static Sum add(Sum sum, Bytes rows, Bytes columns) {
    return vusmmlaq_s32(sum, rows, vreinterpretq_s8_u8(columns));
  }
};

constexpr GemmKernel kKernel = squares::kernel<ByteSquare, uint8_t>(kInt8Depth);

}  // namespace

const GemmKernel* gemm_neon_i8mm_kernel() { return &kKernel; }

}  // namespace hone::kernels
