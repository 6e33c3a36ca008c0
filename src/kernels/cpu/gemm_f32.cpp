// The fp32 micro-kernel, for fp32 weights and for bf16 weights widened on the fly. A tile is
// kTileRows x 2 vectors of sums in registers; each step along k loads two vectors of the panel and
// broadcasts one element of each row, from A as it lies in memory.
//
// Measured on a Zen 4 core whose register-only loop of multiply-adds gives 118 GFLOP/s: the
// 14-row loop of AVX-512 alone 117.8 (with packed A 117.9: packing buys nothing), whole products
// 110 to 113 from 32 rows on, weights from memory; AVX2's 98 to 107, and widened bf16's 94 to 105
// (AVX-512) and 75 to 84 (AVX2). bench/results/gemm.md has them shape by shape beside oneDNN's.

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/gemm_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_f32.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

constexpr int64_t kPanel = 2 * kLanes;
// 28 of 32 registers hold sums with AVX-512, 12 of 16 with AVX2, 16 of 32 with NEON.
constexpr int kTileRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 8;

/// Rows of A, three to a pointer: x86 addresses base, base + stride and base + 2 * stride at no
/// cost, and 14 pointers would not fit its registers.
template <int rows>
struct RowPointers {
  static constexpr int kCount = (rows + 2) / 3;
  const float* p[kCount];
  int64_t stride;

  HWY_INLINE RowPointers(const float* a, int64_t lda) : stride(lda) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) p[i] = a + 3 * i * lda;
  }
  HWY_INLINE float At(int row, int k) const { return p[row / 3][row % 3 * stride + k]; }
  HWY_INLINE void Advance(int k) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) p[i] += k;
  }
};

/// sums(r) += a(r, k) * b, for two vectors of b.
template <int rows>
HWY_INLINE void Step(const RowPointers<rows>& a, int k, VF32 b0, VF32 b1, VF32 (&sums)[rows][2]) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const VF32 x = hn::Set(kF32, a.At(r, k));
    sums[r][0] = hn::MulAdd(x, b0, sums[r][0]);
    sums[r][1] = hn::MulAdd(x, b1, sums[r][1]);
  }
}

#if HWY_TARGET == HWY_NEON
/// Four of k of each row: a product takes one of a register's lanes at no cost, where a broadcast
/// takes the place of a product. Nothing is fetched ahead by hand.
template <int rows>
struct RowVectors {
  VF32 x[rows];

  HWY_INLINE RowVectors(const float* a, int64_t lda) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) x[r] = hn::LoadU(kF32, a + r * lda);
  }

  /// sums(r) += x(r, lane) * b, for two vectors of b.
  template <int lane>
  HWY_INLINE void Step(VF32 b0, VF32 b1, VF32 (&sums)[rows][2]) const {
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      sums[r][0].raw = vfmaq_laneq_f32(sums[r][0].raw, b0.raw, x[r].raw, lane);
      sums[r][1].raw = vfmaq_laneq_f32(sums[r][1].raw, b1.raw, x[r].raw, lane);
    }
  }
};

template <int rows>
HWY_INLINE void Sum(const float* a, int64_t lda, const float* HWY_RESTRICT b, int64_t k,
                    VF32 (&sums)[rows][2], GemmFetch) {
  const auto columns = [&](int64_t i) HWY_ATTR { return hn::Load(kF32, b + i * kLanes); };
  for (; k >= 4; k -= 4, a += 4, b += 4 * kPanel) {
    const RowVectors<rows> x(a, lda);
    x.template Step<0>(columns(0), columns(1), sums);
    x.template Step<1>(columns(2), columns(3), sums);
    x.template Step<2>(columns(4), columns(5), sums);
    x.template Step<3>(columns(6), columns(7), sums);
  }
  for (; k > 0; --k, ++a, b += kPanel) {
    Step<rows>(RowPointers<rows>(a, lda), 0, columns(0), columns(1), sums);
  }
}

/// A pair of bf16 in 32 bits: the one of lower k is the lower half. k is a multiple of four.
template <int rows>
HWY_INLINE void Sum(const float* a, int64_t lda, const bf16* HWY_RESTRICT b, int64_t k,
                    VF32 (&sums)[rows][2], GemmFetch) {
  const U32 du;
  const auto* pairs = reinterpret_cast<const uint32_t*>(b);
  const auto upper = hn::Set(du, 0xffff0000u);
  const auto low = [&](int64_t i) HWY_ATTR {
    return hn::BitCast(kF32, hn::ShiftLeft<16>(hn::Load(du, pairs + i * kLanes)));
  };
  const auto high = [&](int64_t i) HWY_ATTR {
    return hn::BitCast(kF32, hn::And(hn::Load(du, pairs + i * kLanes), upper));
  };
  for (; k > 0; k -= 4, a += 4, pairs += 2 * kPanel) {
    const RowVectors<rows> x(a, lda);
    x.template Step<0>(low(0), low(1), sums);
    x.template Step<1>(high(0), high(1), sums);
    x.template Step<2>(low(2), low(3), sums);
    x.template Step<3>(high(2), high(3), sums);
  }
}
#else
template <int rows>
HWY_INLINE void Sum(const float* rows_of_a, int64_t lda, const float* HWY_RESTRICT b, int64_t k,
                    VF32 (&sums)[rows][2], GemmFetch fetch) {
  RowPointers<rows> a(rows_of_a, lda);
  for (int64_t i = 0; i < k; ++i) {
    __builtin_prefetch(fetch.next, 0, 2);
    fetch.next += fetch.stride;
    Step<rows>(a, 0, hn::Load(kF32, b), hn::Load(kF32, b + kLanes), sums);
    a.Advance(1);
    b += kPanel;
  }
}

/// A pair of bf16 in 32 bits: the one of lower k is the lower half.
template <int rows>
HWY_INLINE void Sum(const float* rows_of_a, int64_t lda, const bf16* HWY_RESTRICT b, int64_t k,
                    VF32 (&sums)[rows][2], GemmFetch fetch) {
  RowPointers<rows> a(rows_of_a, lda);
  const U32 du;
  const auto* pairs = reinterpret_cast<const uint32_t*>(b);
  const auto upper = hn::Set(du, 0xffff0000u);
  for (int64_t i = 0; i < k; i += 2) {
    __builtin_prefetch(fetch.next, 0, 2);
    fetch.next += fetch.stride;
    const auto b0 = hn::Load(du, pairs);
    const auto b1 = hn::Load(du, pairs + kLanes);
    Step<rows>(a, 0, hn::BitCast(kF32, hn::ShiftLeft<16>(b0)),
               hn::BitCast(kF32, hn::ShiftLeft<16>(b1)), sums);
    Step<rows>(a, 1, hn::BitCast(kF32, hn::And(b0, upper)), hn::BitCast(kF32, hn::And(b1, upper)),
               sums);
    a.Advance(2);
    pairs += kPanel;
  }
}
#endif

template <int rows, typename Weight>
void MultiplyRows(const float* a, int64_t lda, const Weight* b, int64_t k, bool add, float* out,
                  GemmFetch fetch) {
  VF32 sums[rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sums[r][0] = add ? hn::Load(kF32, out + r * kPanel) : hn::Zero(kF32);
    sums[r][1] = add ? hn::Load(kF32, out + r * kPanel + kLanes) : hn::Zero(kF32);
  }
  Sum<rows>(a, lda, b, k, sums, fetch);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    hn::Store(sums[r][0], kF32, out + r * kPanel);
    hn::Store(sums[r][1], kF32, out + r * kPanel + kLanes);
  }
}

template <typename Weight, int rows = kTileRows>
void Multiply(int64_t wanted, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              void* sums, GemmFetch fetch) {
  if (wanted == rows) {
    MultiplyRows<rows>(static_cast<const float*>(a), lda, static_cast<const Weight*>(b), k, add,
                       static_cast<float*>(sums), fetch);
  } else if constexpr (rows > 1) {
    Multiply<Weight, rows - 1>(wanted, a, lda, b, k, add, sums, fetch);
  }
}

template <typename T>
void CopyRow(const void* from, int64_t k, void* to) {
  const T* row = static_cast<const T*>(from);
  float* out = static_cast<float*>(to);
  int64_t i = 0;
  for (; i + static_cast<int64_t>(kLanes) <= k; i += kLanes) {
    hn::StoreU(LoadVector(row + i), kF32, out + i);
  }
  if (i < k) hn::StoreU(LoadPart(row + i, k - i), kF32, out + i);  // a whole line follows k
}

constexpr int64_t kWhole = 400 << 10;
constexpr int64_t kSlice = 768;
constexpr GemmKernel kF32Kernel = {
    .tile_rows = kTileRows,
    .row_unit = 1,
    .k_unit = 1,
    .whole = kWhole,
    .slice = kSlice,
    .fetches_next = kLanes > 4,
    .fetches_ahead = kLanes == 8,
    .k_step = 1,
    .a_size = sizeof(float),
    .copy_row = &CopyRow<float>,
    .multiply = &Multiply<float>,
    .begin = nullptr,
    .end = nullptr,
};
constexpr GemmKernel kWidenKernel = {
    .tile_rows = kTileRows,
    .row_unit = 1,
    .k_unit = kBf16Depth,
    .whole = kWhole,
    .slice = kSlice,
    .fetches_next = kLanes > 4,
    .fetches_ahead = kLanes == 8,
    .k_step = 2,
    .a_size = sizeof(float),
    .copy_row = &CopyRow<bf16>,
    .multiply = &Multiply<bf16>,
    .begin = nullptr,
    .end = nullptr,
};

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

#if HWY_ARCH_X86
namespace {

/// A Sapphire Rapids guest ran BERT-base at 128 tokens 15% faster, at 32 tokens 5% faster, with the
/// lines asked for by hand. Zen 4 gains 4% at 32 tokens from those that come next, and loses 20% on
/// one tile with those ahead.
GemmKernel tuned(GemmKernel kernel) {
  kernel.fetches_ahead |= cpu_info().vendor == "GenuineIntel";
  return kernel;
}

}  // namespace

const GemmKernel* gemm_f32_kernel(Isa isa, DType dtype) {
  static const GemmKernel f32 = tuned(N_AVX3::kF32Kernel);
  static const GemmKernel widen = tuned(N_AVX3::kWidenKernel);
  if (dtype == DType::bf16) return isa >= Isa::avx512 ? &widen : &N_AVX2::kWidenKernel;
  return isa >= Isa::avx512 ? &f32 : &N_AVX2::kF32Kernel;
}
#else
const GemmKernel* gemm_f32_kernel(Isa, DType dtype) {
  return dtype == DType::bf16 ? &HWY_STATIC_DISPATCH(kWidenKernel)
                              : &HWY_STATIC_DISPATCH(kF32Kernel);
}
#endif

}  // namespace hone::kernels
#endif
