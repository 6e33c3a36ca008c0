#include <immintrin.h>

#include "kernels/cpu/peak_loop.h"

namespace hone::kernels {
namespace {

constexpr int64_t kRounds = 100'000;
constexpr int kSums = 12;     // more than latency times issue width of any of these
constexpr int kPairSums = 8;  // 12 would not stay in AVX2's registers

// Sums start apart from one another: the compiler keeps only one of several that are equal.

__attribute__((target("avx2,fma"))) float run_avx2() {
  __m256 sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm256_set1_ps(1.0f + static_cast<float>(i));
  const __m256 x = _mm256_set1_ps(0.999f);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(x, sum, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f"))) float run_avx512() {
  __m512 sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(1.0f + static_cast<float>(i));
  const __m512 x = _mm512_set1_ps(0.999f);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(x, sum, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f,avx512bf16"))) float run_avx512_bf16() {
  __m512 sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(1.0f + static_cast<float>(i));
  const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3a003a00);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, x, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f,avx512vnni"))) float run_vnni() {
  __m512i sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_epi32(i);
  const __m512i x = _mm512_set1_epi8(1);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, x, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return _mm512_cvtss_f32(_mm512_castsi512_ps(sums[0]));
}

/// Multiplies pairs of 16 bits, as bytes are multiplied without VNNI. The products feed the next
/// ones, or the compiler would take them out of the loop.
__attribute__((target("avx2"))) float run_avx2_pairs() {
  __m256i sums[kPairSums];
  for (int i = 0; i < kPairSums; ++i) sums[i] = _mm256_set1_epi32(i);
  const __m256i x = _mm256_set1_epi16(1);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256i& sum : sums) sum = _mm256_add_epi32(x, _mm256_madd_epi16(sum, x));
  }
  for (int i = 1; i < kPairSums; ++i) sums[0] = _mm256_add_epi32(sums[0], sums[i]);
  return static_cast<float>(_mm256_cvtsi256_si32(sums[0]));
}

__attribute__((target("avx512f,avx512bw"))) float run_avx512_pairs() {
  __m512i sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_epi32(i);
  const __m512i x = _mm512_set1_epi16(1);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512i& sum : sums) sum = _mm512_add_epi32(x, _mm512_madd_epi16(sum, x));
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return _mm512_cvtss_f32(_mm512_castsi512_ps(sums[0]));
}

/// Uses six tiles of sums of the eight that palette 1 has; see gemm_amx.cpp.
template <bool bytes>
float run_amx() {
  struct alignas(64) Config {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static constexpr Config config;
  __asm__ volatile(
      "ldtilecfg %0\n\ttilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"
      "tilezero %%tmm3\n\ttilezero %%tmm4\n\ttilezero %%tmm5\n\ttilezero %%tmm6\n\ttilezero "
      "%%tmm7" ::"m"(config));
  for (int64_t round = 0; round < kRounds / 16; ++round) {
    if (bytes) {
      __asm__ volatile(
          "tdpbusd %tmm7, %tmm6, %tmm0\n\ttdpbusd %tmm7, %tmm6, %tmm1\n\t"
          "tdpbusd %tmm7, %tmm6, %tmm2\n\ttdpbusd %tmm7, %tmm6, %tmm3\n\t"
          "tdpbusd %tmm7, %tmm6, %tmm4\n\ttdpbusd %tmm7, %tmm6, %tmm5");
      continue;
    }
    __asm__ volatile(
        "tdpbf16ps %tmm7, %tmm6, %tmm0\n\ttdpbf16ps %tmm7, %tmm6, %tmm1\n\t"
        "tdpbf16ps %tmm7, %tmm6, %tmm2\n\ttdpbf16ps %tmm7, %tmm6, %tmm3\n\t"
        "tdpbf16ps %tmm7, %tmm6, %tmm4\n\ttdpbf16ps %tmm7, %tmm6, %tmm5");
  }
  __asm__ volatile("tilerelease");
  return 0;
}

}  // namespace

PeakLoop peak_loop(Isa isa, DType dtype) {
  const double fmas = 2.0 * kRounds * kSums;
  const double tiles = static_cast<double>(kRounds / 16) * 6 * (16 * 16 * 2);
  if (dtype == DType::i8) {
    if (isa == Isa::amx && cpu_info().amx_int8) return {run_amx<true>, tiles * 64};
    if (isa >= Isa::avx512_vnni) return {run_vnni, fmas * 64};
    if (isa == Isa::avx512) return {run_avx512_pairs, fmas * 32};
    return {run_avx2_pairs, 2.0 * kRounds * kPairSums * 16};
  }
  if (dtype == DType::bf16 && isa == Isa::amx) return {run_amx<false>, tiles * 32};
  if (dtype == DType::bf16 && isa == Isa::avx512_bf16) return {run_avx512_bf16, fmas * 32};
  if (isa >= Isa::avx512) return {run_avx512, fmas * 16};
  return {run_avx2, fmas * 8};
}

}  // namespace hone::kernels
