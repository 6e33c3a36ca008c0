#include <immintrin.h>

#include <algorithm>

#include "base/clock.h"
#include "gemm_cases.h"

namespace hone::bench {
namespace {

constexpr int64_t kRounds = 100'000;
constexpr int kSums = 12;  // more than latency times issue width of any of these

__attribute__((target("avx2,fma"))) float run_avx2() {
  __m256 sums[kSums];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1.0f);
  const __m256 x = _mm256_set1_ps(0.999f);
  for (int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(x, sum, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f"))) float run_avx512() {
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0f);
  const __m512 x = _mm512_set1_ps(0.999f);
  for (int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(x, sum, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f,avx512bf16"))) float run_avx512_bf16() {
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0f);
  const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3a003a00);
  for (int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, x, x);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

}  // namespace

double measured_peak(Isa isa, DType dtype, ThreadPool& pool) {
  const bool native = dtype == DType::bf16 && isa >= Isa::avx512_bf16;
  const double flops = 2.0 * kRounds * kSums * (native ? 32 : isa >= Isa::avx512 ? 16 : 8);
  double best = 0;
  for (int attempt = 0; attempt < 60; ++attempt) {
    const Stopwatch watch;
    pool.run(pool.size(), [&](int64_t, int) {
      volatile float sink = native               ? run_avx512_bf16()
                            : isa >= Isa::avx512 ? run_avx512()
                                                 : run_avx2();
      (void)sink;
    });
    best = std::max(best, flops * pool.size() / watch.seconds() / 1e9);
  }
  return best;
}

}  // namespace hone::bench
