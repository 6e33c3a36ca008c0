#pragma once

#include <algorithm>

#include "kernels/cpu/attention_amx.h"
#include "kernels/cpu/gemm_kernel.h"

/// The micro-kernels of AMX, bf16 and int8, over any engine that has its eight tiles: the
/// processor's (gemm_amx.cpp) or, on processors without, an emulated one in the tests.
///
/// A tile is 16 rows of 64 bytes: 16 x 16 sums, 16 rows of A by 32 bf16 or 64 bytes of k, or 16
/// groups of k (pairs of bf16, four bytes) by 16 columns of a panel. Two by two tiles of sums take
/// four products for four loads.
namespace hone::kernels::amx {

constexpr int64_t kUnit = 16;
constexpr int64_t kTileRows = 2 * kUnit;
constexpr int64_t kPanel = 32;
constexpr int64_t kGroups = 16;  // groups of k in a tile
constexpr int64_t kGroup = 4;    // bytes of a group
constexpr int64_t kRowBytes = kGroups * kGroup;
constexpr int64_t kLine = kCacheLine;
constexpr int64_t kStride = kPanel * kGroup;  // bytes between groups of a panel, and rows of sums

/// Engine: its Element is that of A; load<tile>(from, stride), store<tile>(to, stride),
/// zero<tile>(), and dot<sums, a, b>(): sums += a * b. Tiles 0 to 3 hold sums, 4 and 5 rows of A, 6
/// and 7 columns.
template <typename Engine, bool two_units>
void multiply_units(const char* a, int64_t stride, const char* b, int64_t bytes, bool add,
                    char* sums, int64_t sums_stride, GemmFetch fetch) {
  char* lower = sums + kUnit * sums_stride;
  if (add) {
    Engine::template load<0>(sums, sums_stride);
    Engine::template load<1>(sums + kRowBytes, sums_stride);
    if (two_units) Engine::template load<2>(lower, sums_stride);
    if (two_units) Engine::template load<3>(lower + kRowBytes, sums_stride);
  } else {
    Engine::template zero<0>();
    Engine::template zero<1>();
    if (two_units) Engine::template zero<2>();
    if (two_units) Engine::template zero<3>();
  }
  for (int64_t i = 0; i < bytes; i += kRowBytes) {
    Engine::template load<6>(b, kStride);
    Engine::template load<4>(a, stride);
    Engine::template dot<0, 4, 6>();
    Engine::template load<7>(b + kRowBytes, kStride);
    Engine::template dot<1, 4, 7>();
    if (two_units) {
      Engine::template load<5>(a + kUnit * stride, stride);
      Engine::template dot<2, 5, 6>();
      Engine::template dot<3, 5, 7>();
    }
    for (int64_t at = 0; at < kGroups * fetch.stride; at += std::min(fetch.stride, kLine)) {
      __builtin_prefetch(fetch.next + at, 0, 2);
    }
    fetch.next += kGroups * fetch.stride;
    a += kRowBytes;
    b += kGroups * kStride;
  }
  Engine::template store<0>(sums, sums_stride);
  Engine::template store<1>(sums + kRowBytes, sums_stride);
  if (two_units) Engine::template store<2>(lower, sums_stride);
  if (two_units) Engine::template store<3>(lower + kRowBytes, sums_stride);
}

template <typename Engine>
void multiply(int64_t rows, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              void* sums, GemmFetch fetch) {
  constexpr int64_t kSize = sizeof(typename Engine::Element);
  const auto* from = static_cast<const char*>(a);
  const auto* panel = static_cast<const char*>(b);
  auto* out = static_cast<char*>(sums);
  if (rows > kUnit) {
    multiply_units<Engine, true>(from, lda * kSize, panel, k * kSize, add, out, kStride, fetch);
  } else {
    multiply_units<Engine, false>(from, lda * kSize, panel, k * kSize, add, out, kStride, fetch);
  }
}

template <typename Element>
void copy_row(const void* from, int64_t k, void* to) {
  __builtin_memcpy(to, from, static_cast<size_t>(k) * sizeof(Element));
}

/// Four loads of 1 KB feed four products of 16 cycles, which the L2 cache cannot keep up with: a
/// slice of 768 bytes of k is 24 KB of a panel and stays in the L1 cache while the rows pass.
/// Fetching the next slice meanwhile takes a tenth off BERT-base int8 at 128 tokens (13.6 to 12.2
/// ms on two cores of a Sapphire Rapids guest), and fetching ahead where one tile streams a weight
/// 5% off 32 tokens, every line of it and a part while sums are finished another 4%. Finishing a
/// tile between the steps of the next one gives nothing beyond that. Where another guest uses the
/// core's second hardware thread, all tile instructions go one after the other, loads and products
/// alike, and a step of 60 cycles takes 270.
template <typename Engine>
constexpr GemmKernel kKernel = {
    .tile_rows = kTileRows,
    .row_unit = kUnit,
    .k_unit = kRowBytes / sizeof(typename Engine::Element),
    .whole = 48 << 10,
    .slice = 768 / sizeof(typename Engine::Element),
    .fetches_next = true,
    .fetches_ahead = true,
    .finish_fetch = 2 * kLine,
    .k_step = kGroup / sizeof(typename Engine::Element),
    .a_size = sizeof(typename Engine::Element),
    .copy_row = &copy_row<typename Engine::Element>,
    .multiply = &multiply<Engine>,
    .begin = &Engine::configure,
    .end = &Engine::release,
};

static_assert(AmxPanels::kUnit == kUnit && AmxPanels::kTerms == kRowBytes / sizeof(bf16));
static_assert(AttentionTiles::kTileRows == kTileRows && AttentionTiles::kPanel == kPanel);
static_assert(AttentionTiles::kQueries % kUnit == 0);

template <typename Engine, bool two_units, bool add>
void multiply_panel(const float* a, int64_t a_stride, const float* panel, int64_t steps, float* c,
                    int64_t c_stride) {
  const auto* b = reinterpret_cast<const char*>(panel);
  multiply_units<Engine, two_units>(reinterpret_cast<const char*>(a), a_stride * kGroup, b,
                                    steps * kGroup, add, reinterpret_cast<char*>(c),
                                    c_stride * kGroup, {b, 0});
}

template <typename Engine>
constexpr AmxPanels kPanels = {
    .products = {{&multiply_panel<Engine, false, false>, &multiply_panel<Engine, false, true>},
                 {&multiply_panel<Engine, true, false>, &multiply_panel<Engine, true, true>}},
    .begin = &Engine::configure,
    .end = &Engine::release,
};

}  // namespace hone::kernels::amx
