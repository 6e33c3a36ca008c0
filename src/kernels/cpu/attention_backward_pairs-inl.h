// The products of attention's backward pass in bf16, two terms of a sum a step.
#if defined(HONE_KERNELS_CPU_ATTENTION_BACKWARD_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ATTENTION_BACKWARD_PAIRS_INL_H_
#undef HONE_KERNELS_CPU_ATTENTION_BACKWARD_PAIRS_INL_H_
#else
#define HONE_KERNELS_CPU_ATTENTION_BACKWARD_PAIRS_INL_H_
#endif

#include "kernels/cpu/attention_backward-inl.h"
#include "kernels/cpu/attention_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Fp32Gradients for pairs of bf16. Scores that are summed over queries become pairs of two
/// queries' scores, one row for two, over rows that are already used up; those that are summed over
/// keys become bf16.
struct PairGradients : PairProducts {
  static PanelProduct* Transposed(int64_t rows, int64_t columns) {
    return bf16_pair_product_transposed(rows, columns);
  }

  static const float* LayOut(const BackwardTiles& tiles, const BackwardScratch& scratch,
                             int64_t begin, int64_t rows, int64_t count) {
    const int64_t stride = tiles.score_stride();
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = scratch.dscores + (begin + r) * stride;
      auto* to = reinterpret_cast<bf16*>(scratch.strip + r * stride);
      int64_t j = 0;
      for (; j + static_cast<int64_t>(kLanes) <= count; j += kLanes) {
        StoreVector(LoadVector(from + j), to + j);
      }
      // Zeros follow, because an odd count's last pair is multiplied too.
      if (j < count) StoreVector(LoadPart(from + j, count - j), to + j);
    }
    for (int64_t r = 0; r < rows; r += 2) {
      const int64_t pair = (begin + r) / 2 * stride, first = (begin + r) * stride;
      const int64_t second = r + 1 < rows ? stride : 0;
      PairRows(scratch.weights + first, second, count, scratch.weights + pair);
      PairRows(scratch.dscores + first, second, count, scratch.dscores + pair);
    }
    return scratch.strip;
  }

 private:
  /// Gives what rounds to bf16 in the high halves.
  static HWY_INLINE hn::Vec<U32> Rounded(const float* p) {
    const U32 du;
    const VF32 value = hn::LoadU(kF32, p);
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
    const auto nan = hn::Or(bits, hn::Set(du, 0x400000u));
    return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), nan, rounded);
  }

  /// Pairs two rows. `second` is how far behind `rows` the other row lies; 0: there is none, and it
  /// counts as zeros.
  static HWY_INLINE void PairRows(const float* rows, int64_t second, int64_t count, float* pairs) {
    const U32 du;
    for (int64_t j = 0; j < count; j += kLanes) {
      auto pair = hn::ShiftRight<16>(Rounded(rows + j));
      if (second > 0) {
        const auto high = hn::And(Rounded(rows + second + j), hn::Set(du, 0xffff0000u));
        pair = hn::Or(pair, high);
      }
      hn::StoreU(hn::BitCast(kF32, pair), kF32, pairs + j);
    }
  }
};

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
