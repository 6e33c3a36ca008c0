// Attention's products in bf16, two terms of a sum a step, for processors with AVX512-BF16.
#if defined(HONE_KERNELS_CPU_ATTENTION_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ATTENTION_PAIRS_INL_H_
#undef HONE_KERNELS_CPU_ATTENTION_PAIRS_INL_H_
#else
#define HONE_KERNELS_CPU_ATTENTION_PAIRS_INL_H_
#endif

#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/attention_amx.h"
#include "kernels/cpu/attention_pairs.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Columns [0, count) of two rows, each column's pair as one element; `second` null: zeros.
HWY_INLINE hn::Vec<U32> LoadPairs(const bf16* first, const bf16* second, int64_t count) {
  const U32 du;
  const bool whole = count >= static_cast<int64_t>(kLanes);
  const auto load = [&](const bf16* p) HWY_ATTR {
    return hn::BitCast(du, whole ? LoadVector(p) : LoadPart(p, count));
  };
  const auto high = second ? load(second) : hn::Zero(du);
  return hn::Or(high, hn::ShiftRight<16>(load(first)));
}

/// Fp32Products for pairs of bf16; the head size is even.
struct PairProducts {
  using Weight = bf16;
  static constexpr int64_t kTogether = 2;
  static constexpr int64_t kTerms = 2;
  static constexpr int64_t kRows = HWY_NAMESPACE::kRows;
  static constexpr int64_t kRowUnit = 1;
  static constexpr bool kNative = true;

  /// A pair lies in memory as one float: keys are transposed as floats of half the depth.
  static void PackKeyPanel(const bf16* keys, int64_t stride, int64_t count, int64_t depth,
                           float* panel) {
    if (stride % 2 == 0) {
      HWY_NAMESPACE::PackKeyPanel(reinterpret_cast<const float*>(keys), stride / 2, count,
                                  depth / 2, panel);
      return;
    }
    std::memset(panel, 0, depth / 2 * kPanel * sizeof(float));
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = 0; i < depth / 2; ++i) {
        std::memcpy(panel + i * kPanel + j, keys + j * stride + 2 * i, sizeof(float));
      }
    }
  }

  static void PackValues(const bf16* values, int64_t stride, int64_t count, int64_t depth,
                         float* out) {
    PackPairs(values, stride, count, count, depth, out);
  }

  /// Packs pairs of values, with zeros up to `filled` values.
  static void PackPairs(const bf16* values, int64_t stride, int64_t count, int64_t filled,
                        int64_t depth, float* out) {
    const int64_t lanes = kLanes;
    for (int64_t column = 0; column < depth; column += kPanel) {
      for (int64_t j = 0; j < filled; j += 2) {
        for (int64_t half = column; half < column + kPanel; half += lanes, out += lanes) {
          const bf16* first = values + j * stride + half;
          const auto pairs =
              half < depth && j < count
                  ? LoadPairs(first, j + 1 < count ? first + stride : nullptr, depth - half)
                  : hn::Zero(U32());
          hn::StoreU(hn::BitCast(kF32, pairs), kF32, out);
        }
      }
    }
  }

  static void PackQueries(const bf16* queries, int64_t stride, int64_t count, int64_t depth,
                          float* out) {
    for (int64_t j = 0; j < count; ++j) {
      std::memcpy(out + j * depth / 2, queries + j * stride, depth * sizeof(bf16));
    }
  }

  static PanelProduct* Product(int64_t rows, int64_t columns, bool add) {
    return bf16_pair_product(rows, columns, add);
  }
};

/// PairProducts by AMX's tiles, which take whole units of rows and of terms; fits_amx(head size),
/// and two vectors are a panel of AMX's.
struct TileProducts : PairProducts {
  static constexpr int64_t kTerms = AmxPanels::kTerms;
  static constexpr int64_t kRows = AttentionTiles::kTileRows;
  static constexpr int64_t kRowUnit = AmxPanels::kUnit;

  static void PackValues(const bf16* values, int64_t stride, int64_t count, int64_t depth,
                         float* out) {
    PackPairs(values, stride, count, hwy::RoundUpTo(count, kTerms), depth, out);
  }

  PanelProduct* Product(int64_t rows, int64_t, bool add) const {
    return panels.products[rows > kRowUnit][add];
  }

  const AmxPanels& panels;
};

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
