// The bf16 micro-kernel of ARM's BFMMLA, which adds two products at a time to a sum in fp32,
// ascending in k.

#include "kernels/cpu/gemm_neon_squares-inl.h"

namespace hone::kernels {
namespace {

struct PairSquare {
  using Sum = float32x4_t;
  using Bytes = bfloat16x8_t;
  static Bytes bytes(uint8x16_t bits) { return vreinterpretq_bf16_u8(bits); }
  static Sum sum(uint8x16_t bits) { return vreinterpretq_f32_u8(bits); }
  static uint8x16_t bits(Sum sum) { return vreinterpretq_u8_f32(sum); }
  static Sum zero() { return vdupq_n_f32(0.0f); }
  static Sum add(Sum sum, Bytes rows, Bytes columns) { return vbfmmlaq_f32(sum, rows, columns); }
};

constexpr GemmKernel kKernel = squares::kernel<PairSquare, bf16>(kBf16Depth);

}  // namespace

const GemmKernel* gemm_neon_bf16_kernel() { return &kKernel; }

}  // namespace hone::kernels
