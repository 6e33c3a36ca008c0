// The bf16 micro-kernel of AVX512-BF16: as gemm_f32.cpp's, with pairs of k. A register holds the
// pairs of 16 columns; 32 bits of a row, a pair too, are broadcast to it.
//
// Measured on a Zen 4 core: 206 to 222 GFLOP/s from 32 rows on, weights from memory, where fp32
// gives 110. On Intel without AMX it is slower than fp32 and not chosen (device/cpu_info.h).

#include "kernels/cpu/gemm_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace hone::kernels {
namespace {

constexpr int kTileRows = 14;
constexpr int64_t kPanel = 32;
constexpr int64_t kLanes = 16;

/// `stride` in bytes: rows need not be aligned to pairs.
template <int rows>
void multiply_rows(const char* a, int64_t stride, const uint32_t* b, int64_t pairs, bool add,
                   float* out, GemmFetch fetch) {
  constexpr int kPointers = (rows + 2) / 3;
  const char* p[kPointers];
  __m512 sums[rows][2];
#pragma GCC unroll 8
  for (int i = 0; i < kPointers; ++i) p[i] = a + 3 * i * stride;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sums[r][0] = add ? _mm512_load_ps(out + r * kPanel) : _mm512_setzero_ps();
    sums[r][1] = add ? _mm512_load_ps(out + r * kPanel + kLanes) : _mm512_setzero_ps();
  }
  for (int64_t i = 0; i < pairs; ++i) {
    __builtin_prefetch(fetch.next, 0, 2);
    fetch.next += fetch.stride;
    const auto b0 = (__m512bh)_mm512_load_si512(b);
    const auto b1 = (__m512bh)_mm512_load_si512(b + kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      int pair;
      __builtin_memcpy(&pair, p[r / 3] + r % 3 * stride, sizeof pair);
      const auto x = (__m512bh)_mm512_set1_epi32(pair);
      sums[r][0] = _mm512_dpbf16_ps(sums[r][0], x, b0);
      sums[r][1] = _mm512_dpbf16_ps(sums[r][1], x, b1);
    }
#pragma GCC unroll 8
    for (int j = 0; j < kPointers; ++j) p[j] += sizeof(uint32_t);
    b += kPanel;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    _mm512_store_ps(out + r * kPanel, sums[r][0]);
    _mm512_store_ps(out + r * kPanel + kLanes, sums[r][1]);
  }
}

template <int rows = kTileRows>
void multiply(int64_t wanted, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              float* sums, GemmFetch fetch) {
  if (wanted == rows) {
    multiply_rows<rows>(static_cast<const char*>(a), lda * 2, static_cast<const uint32_t*>(b),
                        k / 2, add, sums, fetch);
  } else if constexpr (rows > 1) {
    multiply<rows - 1>(wanted, a, lda, b, k, add, sums, fetch);
  }
}

void copy_row(const void* from, int64_t k, void* to) {
  __builtin_memcpy(to, from, static_cast<size_t>(k) * 2);
}

constexpr GemmKernel kKernel = {
    .tile_rows = kTileRows,
    .row_unit = 1,
    .k_unit = kBf16Depth,
    .whole = 400 << 10,
    .slice = 1536,
    .fetches_ahead = false,
    .k_step = 2,
    .a_size = sizeof(bf16),
    .copy_row = &copy_row,
    .multiply = &multiply<>,
    .begin = nullptr,
    .end = nullptr,
};

}  // namespace

const GemmKernel* gemm_bf16_kernel() { return &kKernel; }

}  // namespace hone::kernels
#else
namespace hone::kernels {
const GemmKernel* gemm_bf16_kernel() { return nullptr; }
}  // namespace hone::kernels
#endif
