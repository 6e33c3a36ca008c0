#pragma once

#include "kernels/cpu/gemm_kernel.h"

/// The bf16 micro-kernel of AMX, over any engine that has its eight tiles: the processor's
/// (gemm_amx.cpp) or, on processors without, an emulated one in the tests.
///
/// A tile is 16 rows of 64 bytes: 16 x 16 sums, 16 rows of A by 32 of k, or 16 pairs of k by 16
/// columns of a panel. Two by two tiles of sums take four products for four loads.
namespace hone::kernels::amx {

constexpr int64_t kUnit = 16;
constexpr int64_t kTileRows = 2 * kUnit;
constexpr int64_t kPanel = 32;
constexpr int64_t kDepth = kBf16Depth;
constexpr int64_t kStep = 2;
constexpr int64_t kSumsStride = kPanel * sizeof(float);
constexpr int64_t kPairsStride = kPanel * 2 * sizeof(bf16);

/// Engine: load<tile>(from, stride), store<tile>(to, stride), zero<tile>(), and
/// dot<sums, a, b>(): sums += a * b. Tiles 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 columns.
template <typename Engine, bool two_units>
void multiply_units(const char* a, int64_t stride, const char* b, int64_t k, bool add, float* sums,
                    GemmFetch fetch) {
  float* lower = sums + kUnit * kPanel;
  if (add) {
    Engine::template load<0>(sums, kSumsStride);
    Engine::template load<1>(sums + kUnit, kSumsStride);
    if (two_units) Engine::template load<2>(lower, kSumsStride);
    if (two_units) Engine::template load<3>(lower + kUnit, kSumsStride);
  } else {
    Engine::template zero<0>();
    Engine::template zero<1>();
    if (two_units) Engine::template zero<2>();
    if (two_units) Engine::template zero<3>();
  }
  for (int64_t i = 0; i < k; i += kDepth) {
    Engine::template load<6>(b, kPairsStride);
    Engine::template load<4>(a, stride);
    Engine::template dot<0, 4, 6>();
    Engine::template load<7>(b + kPairsStride / 2, kPairsStride);
    Engine::template dot<1, 4, 7>();
    if (two_units) {
      Engine::template load<5>(a + kUnit * stride, stride);
      Engine::template dot<2, 5, 6>();
      Engine::template dot<3, 5, 7>();
    }
    for (int64_t line = 0; line < kDepth / kStep; ++line, fetch.next += fetch.stride) {
      __builtin_prefetch(fetch.next, 0, 2);
    }
    a += kDepth * sizeof(bf16);
    b += kDepth / 2 * kPairsStride;
  }
  Engine::template store<0>(sums, kSumsStride);
  Engine::template store<1>(sums + kUnit, kSumsStride);
  if (two_units) Engine::template store<2>(lower, kSumsStride);
  if (two_units) Engine::template store<3>(lower + kUnit, kSumsStride);
}

template <typename Engine>
void multiply(int64_t rows, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              float* sums, GemmFetch fetch) {
  const auto* from = static_cast<const char*>(a);
  const auto* panel = static_cast<const char*>(b);
  const int64_t stride = lda * static_cast<int64_t>(sizeof(bf16));
  if (rows > kUnit) {
    multiply_units<Engine, true>(from, stride, panel, k, add, sums, fetch);
  } else {
    multiply_units<Engine, false>(from, stride, panel, k, add, sums, fetch);
  }
}

inline void copy_row(const void* from, int64_t k, void* to) {
  __builtin_memcpy(to, from, static_cast<size_t>(k) * sizeof(bf16));
}

/// Four loads of 1 KB feed four products of 16 cycles, which the L2 cache cannot keep up with: a
/// slice of 384 of a panel is 24 KB and stays in the L1 cache while the rows pass.
template <typename Engine>
constexpr GemmKernel kKernel = {
    .tile_rows = kTileRows,
    .row_unit = kUnit,
    .k_unit = kDepth,
    .whole = 48 << 10,
    .slice = 384,
    .fetches_ahead = false,
    .k_step = kStep,
    .a_size = sizeof(bf16),
    .copy_row = &copy_row,
    .multiply = &multiply<Engine>,
    .begin = &Engine::configure,
    .end = &Engine::release,
};

}  // namespace hone::kernels::amx
