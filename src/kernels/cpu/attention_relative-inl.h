// Relative position embeddings of attention, plainly: one dot product of the head size a score.
#if defined(HONE_KERNELS_CPU_ATTENTION_RELATIVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ATTENTION_RELATIVE_INL_H_
#undef HONE_KERNELS_CPU_ATTENTION_RELATIVE_INL_H_
#else
#define HONE_KERNELS_CPU_ATTENTION_RELATIVE_INL_H_
#endif

#include "kernels/cpu/attention.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <typename A, typename B>
HWY_INLINE float Dot(const A* a, const B* b, int64_t count) {
  const int64_t lanes = kLanes;
  VF32 sum = hn::Zero(kF32);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    sum = hn::MulAdd(LoadVector(a + i), LoadVector(b + i), sum);
  }
  if (i < count) sum = hn::MulAdd(LoadPart(a + i, count - i), LoadPart(b + i, count - i), sum);
  return hn::GetLane(hn::SumOfLanes(kF32, sum));
}

/// Adds to one row's `scores`, before scaling, of `count` keys. The query stands at `position` in
/// its sequence, the first key at `first_key`.
template <typename In>
void AddRelativeScores(const RelativePositions& relative, const In* query, int64_t position,
                       HeadRows<In> keys, int64_t first_key, int64_t count, int64_t depth,
                       float* scores) {
  for (int64_t j = 0; j < count; ++j) {
    const int64_t distance = position - (first_key + j) + relative.positions - 1;
    const float* embedding = relative.distances + distance * depth;
    scores[j] += Dot(query, embedding, depth);
    if (relative.with_keys) scores[j] += Dot(keys.data + j * keys.stride, embedding, depth);
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
