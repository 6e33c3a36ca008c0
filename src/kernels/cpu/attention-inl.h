// The parts of attention on one tile: packing, the product of a few rows by a panel, and softmax.
#if defined(HONE_KERNELS_CPU_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ATTENTION_INL_H_
#undef HONE_KERNELS_CPU_ATTENTION_INL_H_
#else
#define HONE_KERNELS_CPU_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

constexpr int64_t kPanel = 2 * kLanes;
/// A tile of kRows rows by two vectors is held in registers: 24 of 32, or 12 of AVX2's 16.
constexpr int kRows = HWY_TARGET == HWY_AVX2 ? 6 : 12;
static_assert(kPanel <= AttentionTiles::kPanel && kRows <= AttentionTiles::kRows);

using F32x4 = hn::FixedTag<float, 4>;
HWY_INLINE hn::Vec<F32x4> Load4(const float* p) { return hn::LoadU(F32x4(), p); }
HWY_INLINE hn::Vec<F32x4> Load4(const bf16* p) {
  const hn::Rebind<uint16_t, F32x4> d16;
  const hn::RebindToUnsigned<F32x4> d32;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(p));
  return hn::BitCast(F32x4(), hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}
/// Loads by bytes: pairs of bf16, which may be less aligned, are moved as floats too.
HWY_INLINE float Load1(const float* p) {
  float value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}
HWY_INLINE float Load1(const bf16* p) { return to_float(*p); }

/// Transposes four rows by four columns; output rows lie kPanel apart.
template <typename In>
HWY_INLINE void Transpose4x4(const In* rows, int64_t stride, float* out) {
  const F32x4 d;
  const hn::Repartition<double, F32x4> pairs;
  const auto r0 = Load4(rows), r1 = Load4(rows + stride);
  const auto r2 = Load4(rows + 2 * stride), r3 = Load4(rows + 3 * stride);
  const auto a = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto b = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto e = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto f = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, a, b)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)), d, out + kPanel);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, e, f)), d, out + 2 * kPanel);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, e, f)), d, out + 3 * kPanel);
}

/// Packs `count` <= kPanel rows of keys to one panel [depth, kPanel]; columns beyond count become
/// 0.
template <typename In>
HWY_INLINE void PackKeyPanel(const In* keys, int64_t stride, int64_t count, int64_t depth,
                             float* panel) {
  if (count < kPanel) {
    for (int64_t i = 0; i < depth * kPanel; i += kLanes) {
      hn::StoreU(hn::Zero(kF32), kF32, panel + i);
    }
  }
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
    int64_t i = 0;
    for (; i + 4 <= depth; i += 4) {
      Transpose4x4(keys + j * stride + i, stride, panel + i * kPanel + j);
    }
    for (; i < depth; ++i) {
      for (int64_t t = j; t < j + 4; ++t) panel[i * kPanel + t] = Load1(keys + t * stride + i);
    }
  }
  for (; j < count; ++j) {
    for (int64_t i = 0; i < depth; ++i) panel[i * kPanel + j] = Load1(keys + j * stride + i);
  }
}

/// Packs `count` rows of values to panels of [count, kPanel]; columns beyond depth become 0.
template <typename In>
HWY_INLINE void PackValues(const In* values, int64_t stride, int64_t count, int64_t depth,
                           float* out) {
  const int64_t lanes = kLanes;
  for (int64_t column = 0; column < depth; column += kPanel, out += count * kPanel) {
    for (int64_t half = 0; half < kPanel; half += lanes) {
      const int64_t rest = depth - column - half;
      const In* in = values + column + half;
      for (int64_t j = 0; j < count; ++j) {
        const VF32 v = rest >= lanes ? LoadVector(in + j * stride)
                       : rest > 0    ? LoadPart(in + j * stride, rest)
                                     : hn::Zero(kF32);
        hn::StoreU(v, kF32, out + j * kPanel + half);
      }
    }
  }
}

template <typename In>
HWY_INLINE void PackQueries(const In* queries, int64_t stride, int64_t count, int64_t depth,
                            float* out) {
  const int64_t lanes = kLanes;
  for (int64_t j = 0; j < count; ++j, queries += stride, out += depth) {
    int64_t i = 0;
    for (; i + lanes <= depth; i += lanes) hn::StoreU(LoadVector(queries + i), kF32, out + i);
    if (i < depth) StorePart(LoadPart(queries + i, depth - i), out + i, depth - i);
  }
}

/// c [rows, columns] = (or +=) a [rows, steps] times panel [steps, kPanel], for the panel's first
/// one or two vectors of columns. Every element is one chain of fused multiply-adds along the
/// steps, whatever the number of rows and vectors.
template <int rows, int vectors, bool add>
void MultiplyPanel(const float* a, int64_t a_stride, const float* panel, int64_t steps, float* c,
                   int64_t c_stride) {
  VF32 sums[rows][vectors];
  HWY_UNROLL(12)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = add ? hn::LoadU(kF32, c + r * c_stride + v * kLanes) : hn::Zero(kF32);
    }
  }
  for (int64_t i = 0; i < steps; ++i, panel += kPanel) {
    VF32 b[vectors];
    HWY_UNROLL(2)
    for (int v = 0; v < vectors; ++v) b[v] = hn::LoadU(kF32, panel + v * kLanes);
    HWY_UNROLL(12)
    for (int r = 0; r < rows; ++r) {
      const VF32 x = hn::Set(kF32, a[r * a_stride + i]);
      HWY_UNROLL(2)
      for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
  }
  HWY_UNROLL(12)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < vectors; ++v) {
      hn::StoreU(sums[r][v], kF32, c + r * c_stride + v * kLanes);
    }
  }
}

template <int vectors, bool add, int... rows>
HWY_INLINE PanelProduct* ChooseProduct(int64_t count, std::integer_sequence<int, rows...>) {
  static constexpr PanelProduct* table[] = {&MultiplyPanel<rows + 1, vectors, add>...};
  return table[count - 1];
}

/// Computes products in fp32; bf16 is widened where it is packed.
struct Fp32Products {
  using Weight = float;
  static constexpr int64_t kTogether = 1;  ///< terms of a sum that one step takes
  static constexpr int64_t kTerms = 1;     ///< zeros fill a sum over keys up to a multiple
  static constexpr int64_t kRows = HWY_NAMESPACE::kRows;  ///< most rows of queries at once
  static constexpr int64_t kRowUnit = 1;  ///< rows are computed in whole units, whatever they hold
  static constexpr bool kNative = false;  ///< whether results narrow as NarrowBy<true>()

  template <typename In>
  static void PackKeyPanel(const In* keys, int64_t stride, int64_t count, int64_t depth,
                           float* panel) {
    HWY_NAMESPACE::PackKeyPanel(keys, stride, count, depth, panel);
  }
  template <typename In>
  static void PackValues(const In* values, int64_t stride, int64_t count, int64_t depth,
                         float* out) {
    HWY_NAMESPACE::PackValues(values, stride, count, depth, out);
  }
  template <typename In>
  static void PackQueries(const In* queries, int64_t stride, int64_t count, int64_t depth,
                          float* out) {
    HWY_NAMESPACE::PackQueries(queries, stride, count, depth, out);
  }
  /// Gives the product for 1 to kRows rows and at least `columns` columns of a panel.
  static PanelProduct* Product(int64_t rows, int64_t columns, bool add) {
    constexpr auto counts = std::make_integer_sequence<int, kRows>();
    if (columns <= static_cast<int64_t>(kLanes)) {
      return add ? ChooseProduct<1, true>(rows, counts) : ChooseProduct<1, false>(rows, counts);
    }
    return add ? ChooseProduct<2, true>(rows, counts) : ChooseProduct<2, false>(rows, counts);
  }
};

/// Turns one row's scores of a tile into weights e^(scale * score - largest), written over the
/// scores. `largest` (scaled) and `total` carry over from the tiles before. Returns the factor for
/// what was summed up under the old largest.
template <typename Weight, bool native>
HWY_INLINE float SoftmaxTile(float* scores, int64_t count, float scale, float& largest,
                             float& total) {
  const int64_t lanes = kLanes;
  const VF32 lowest = hn::Set(kF32, -std::numeric_limits<float>::infinity());
  VF32 high = lowest;
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) high = hn::Max(hn::LoadU(kF32, scores + j), high);
  if (j < count) {
    const auto valid = hn::FirstN(kF32, count - j);
    high = hn::Max(hn::IfThenElse(valid, hn::LoadU(kF32, scores + j), lowest), high);
  }
  const float before = largest;
  largest = std::max(before, scale * hn::GetLane(hn::MaxOfLanes(kF32, high)));
  const VF32 factor = hn::Set(kF32, scale);
  const VF32 shift = hn::Set(kF32, largest);
  Weight* weights = reinterpret_cast<Weight*>(scores);  // no wider than scores: read, then written
  VF32 sum = hn::Zero(kF32);
  for (j = 0; j + lanes <= count; j += lanes) {
    const VF32 x = hn::MulSub(hn::LoadU(kF32, scores + j), factor, shift);
    const VF32 e = ExpNonPositive(kF32, x);
    StoreVectorBy<native>(e, weights + j);
    sum = hn::Add(sum, e);
  }
  if (j < count) {
    const VF32 x = hn::MulSub(hn::LoadU(kF32, scores + j), factor, shift);
    const VF32 e = hn::IfThenElseZero(hn::FirstN(kF32, count - j), ExpNonPositive(kF32, x));
    StoreVectorBy<native>(e, weights + j);
    sum = hn::Add(sum, e);
  }
  const float added = hn::GetLane(hn::SumOfLanes(kF32, sum));
  if (before == -std::numeric_limits<float>::infinity()) {  // the first tile
    total = added;
    return 0.0f;
  }
  const float change = hn::GetLane(ExpNonPositive(kF32, hn::Set(kF32, before - largest)));
  total = total * change + added;
  return change;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
