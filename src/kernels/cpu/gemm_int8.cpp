// The int8 micro-kernel of x86 without dot products of bytes: both sides are widened to 16 bits,
// whose products are added in pairs to 32. AVX2's own product of bytes adds its pairs in 16 bits
// and saturates; with 7 bits on one side it would be a third faster, but its sums would not be
// those of VNNI and AMX, and a model measured on one machine would answer differently on another.
//
// A group of four bytes b0 b1 b2 b3 of a column is split in its lane of 32 bits into (b0, b2) and
// (b1, b3); A's copy has its groups in the same order.

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/gemm_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using I32 = hn::ScalableTag<int32_t>;
using I16 = hn::Repartition<int16_t, I32>;
using V32 = hn::Vec<I32>;
using V16 = hn::Vec<I16>;
constexpr I32 kI32;
constexpr I16 kI16;
constexpr int64_t kLanes = hn::MaxLanes(kI32);
constexpr int64_t kPanel = 2 * kLanes;
// The tile has the rows of gemm_f32.cpp's, for the same registers.
constexpr int kTileRows = kLanes == 16 ? 14 : 6;

HWY_INLINE V32 AddProducts(V16 a, V16 b, V32 sum) {
  V32 rest = hn::Zero(kI32);
  const V32 products = hn::ReorderWidenMulAccumulate(kI32, a, b, hn::Zero(kI32), rest);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(products, rest));
}

HWY_INLINE V16 EvenBytes(V16 bytes) { return hn::ShiftRight<8>(hn::ShiftLeft<8>(bytes)); }
HWY_INLINE V16 OddBytes(V16 bytes) { return hn::ShiftRight<8>(bytes); }

/// Broadcasts a pair of a row; `half` is 0 for the even bytes of a group, 1 for the odd ones.
HWY_INLINE V16 Pair(const int16_t* group, int half) {
  int32_t pair;
  std::memcpy(&pair, group + 2 * half, sizeof pair);
  return hn::BitCast(kI16, hn::Set(kI32, pair));
}

template <int rows>
void MultiplyRows(const int16_t* a, int64_t lda, const int8_t* b, int64_t k, bool add, int32_t* out,
                  GemmFetch fetch) {
  V32 sums[rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sums[r][0] = add ? hn::Load(kI32, out + r * kPanel) : hn::Zero(kI32);
    sums[r][1] = add ? hn::Load(kI32, out + r * kPanel + kLanes) : hn::Zero(kI32);
  }
  for (int64_t i = 0; i < k; i += 4, a += 4, b += 4 * kPanel) {
    __builtin_prefetch(fetch.next, 0, 2);
    fetch.next += fetch.stride;
    const auto* bytes = reinterpret_cast<const int16_t*>(b);
    const V16 b0 = hn::Load(kI16, bytes);
    const V16 b1 = hn::Load(kI16, bytes + 2 * kLanes);
    const V16 even0 = EvenBytes(b0), even1 = EvenBytes(b1);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const V16 x = Pair(a + r * lda, 0);
      sums[r][0] = AddProducts(x, even0, sums[r][0]);
      sums[r][1] = AddProducts(x, even1, sums[r][1]);
    }
    const V16 odd0 = OddBytes(b0), odd1 = OddBytes(b1);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const V16 x = Pair(a + r * lda, 1);
      sums[r][0] = AddProducts(x, odd0, sums[r][0]);
      sums[r][1] = AddProducts(x, odd1, sums[r][1]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    hn::Store(sums[r][0], kI32, out + r * kPanel);
    hn::Store(sums[r][1], kI32, out + r * kPanel + kLanes);
  }
}

template <int rows = kTileRows>
void Multiply(int64_t wanted, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              void* sums, GemmFetch fetch) {
  if (wanted == rows) {
    MultiplyRows<rows>(static_cast<const int16_t*>(a), lda, static_cast<const int8_t*>(b), k, add,
                       static_cast<int32_t*>(sums), fetch);
  } else if constexpr (rows > 1) {
    Multiply<rows - 1>(wanted, a, lda, b, k, add, sums, fetch);
  }
}

/// Copies whole groups: the last one is filled up with zeros.
void CopyRow(const void* from, int64_t k, void* to) {
  const hn::RebindToUnsigned<I32> du;
  const auto low_bytes = hn::Set(du, 0x00ff00ffu);
  const auto* row = static_cast<const uint8_t*>(from);
  auto* out = static_cast<uint32_t*>(to);
  int64_t i = 0;
  for (; i + 4 * kLanes <= k; i += 4 * kLanes, out += 2 * kLanes) {
    const auto groups =
        hn::BitCast(du, hn::LoadU(hn::Repartition<uint8_t, decltype(du)>(), row + i));
    hn::StoreInterleaved2(hn::And(groups, low_bytes), hn::And(hn::ShiftRight<8>(groups), low_bytes),
                          du, out);
  }
  for (; i < k; i += 4, out += 2) {
    uint32_t group = 0;
    std::memcpy(&group, row + i, static_cast<size_t>(k - i < 4 ? k - i : 4));
    out[0] = group & 0x00ff00ffu;
    out[1] = (group >> 8) & 0x00ff00ffu;
  }
}

constexpr GemmKernel kInt8Kernel = {
    .tile_rows = kTileRows,
    .row_unit = 1,
    .k_unit = kInt8Depth,
    .whole = 400 << 10,
    .slice = 1536,
    .fetches_next = false,
    .fetches_ahead = false,
    .k_step = 4,
    .a_size = sizeof(int16_t),
    .copy_row = &CopyRow,
    .multiply = &Multiply<>,
    .begin = nullptr,
    .end = nullptr,
};

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

const GemmKernel* gemm_int8_kernel(Isa isa) {
  return isa >= Isa::avx512 ? &N_AVX3::kInt8Kernel : &N_AVX2::kInt8Kernel;
}

}  // namespace hone::kernels
#endif
