#include <arm_neon.h>

#include "kernels/cpu/peak_loop.h"

namespace hone::kernels {
namespace {

constexpr int64_t kRounds = 100'000;
constexpr int kSums = 24;  // more than latency times issue width of any core so far

// Sums start apart from one another: the compiler keeps only one of several that are equal. The
// assembler line keeps products of bytes, which do not depend on sums, inside the loop.

float run_fp32() {
  float32x4_t sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = vdupq_n_f32(1.0f + static_cast<float>(i));
  const float32x4_t x = vdupq_n_f32(0.999f);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 24
    for (float32x4_t& sum : sums) sum = vfmaq_f32(x, sum, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = vaddq_f32(sums[0], sums[i]);
  return vgetq_lane_f32(sums[0], 0);
}

float run_int8() {
  int16x8_t products[kSums];
  for (int i = 0; i < kSums; ++i) products[i] = vdupq_n_s16(static_cast<int16_t>(i));
  int8x8_t x = vdup_n_s8(1);
  for (int64_t round = 0; round < kRounds; ++round) {
    __asm__ volatile("" : "+w"(x));
#pragma GCC unroll 24
    for (int16x8_t& sum : products) sum = vmlal_s8(sum, x, x);
  }
  for (int i = 1; i < kSums; ++i) products[0] = vaddq_s16(products[0], products[i]);
  return static_cast<float>(vgetq_lane_s16(products[0], 0));
}

__attribute__((target("arch=armv8.2-a+dotprod"))) float run_dotprod() {
  int32x4_t sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = vdupq_n_s32(i);
  int8x16_t x = vdupq_n_s8(1);
  for (int64_t round = 0; round < kRounds; ++round) {
    __asm__ volatile("" : "+w"(x));
#pragma GCC unroll 24
    for (int32x4_t& sum : sums) sum = vdotq_s32(sum, x, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = vaddq_s32(sums[0], sums[i]);
  return static_cast<float>(vgetq_lane_s32(sums[0], 0));
}

__attribute__((target("arch=armv8.2-a+i8mm"))) float run_i8mm() {
  int32x4_t sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = vdupq_n_s32(i);
  int8x16_t x = vdupq_n_s8(1);
  for (int64_t round = 0; round < kRounds; ++round) {
    __asm__ volatile("" : "+w"(x));
#pragma GCC unroll 24
    for (int32x4_t& sum : sums) sum = vusmmlaq_s32(sum, vreinterpretq_u8_s8(x), x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = vaddq_s32(sums[0], sums[i]);
  return static_cast<float>(vgetq_lane_s32(sums[0], 0));
}

__attribute__((target("arch=armv8.2-a+bf16"))) float run_bf16() {
  float32x4_t sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = vdupq_n_f32(static_cast<float>(i));
  uint16x8_t x = vdupq_n_u16(0x3a00);
  for (int64_t round = 0; round < kRounds; ++round) {
    __asm__ volatile("" : "+w"(x));
    const bfloat16x8_t pairs = vreinterpretq_bf16_u16(x);
#pragma GCC unroll 24
    for (float32x4_t& sum : sums) sum = vbfmmlaq_f32(sum, pairs, pairs);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = vaddq_f32(sums[0], sums[i]);
  return vgetq_lane_f32(sums[0], 0);
}

}  // namespace

PeakLoop peak_loop(Isa isa, DType dtype) {
  const double products = 2.0 * kRounds * kSums;
  if (dtype == DType::i8) {
    if (isa == Isa::neon) return {run_int8, products * 8};
    if (isa == Isa::neon_dotprod) return {run_dotprod, products * 16};
    return {run_i8mm, products * 32};
  }
  if (dtype == DType::bf16 && isa == Isa::neon_bf16) return {run_bf16, products * 16};
  return {run_fp32, products * 4};
}

}  // namespace hone::kernels
