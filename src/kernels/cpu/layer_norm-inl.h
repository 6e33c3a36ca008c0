// LayerNorm of one row, whatever the row is added up from.
#if defined(HONE_KERNELS_CPU_LAYER_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_LAYER_NORM_INL_H_
#undef HONE_KERNELS_CPU_LAYER_NORM_INL_H_
#else
#define HONE_KERNELS_CPU_LAYER_NORM_INL_H_
#endif

#include <cmath>

#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/layer_norm.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// A row is a + b + c, in that order; b and c may be null. It is added up anew in each pass over
/// the row: the operands are in L1 by then, and no scratch is needed.
template <typename A, typename B = A, typename C = A>
struct RowSum {
  const A* a;
  const B* b = nullptr;
  const C* c = nullptr;

  HWY_INLINE VF32 Load(int64_t i) const {
    VF32 sum = LoadVector(a + i);
    if (b) sum = hn::Add(sum, LoadVector(b + i));
    if (c) sum = hn::Add(sum, LoadVector(c + i));
    return sum;
  }
  HWY_INLINE VF32 LoadTail(int64_t i, size_t count) const {
    VF32 sum = LoadPart(a + i, count);
    if (b) sum = hn::Add(sum, LoadPart(b + i, count));
    if (c) sum = hn::Add(sum, LoadPart(c + i, count));
    return sum;
  }
};

HWY_INLINE float ReduceSum(VF32 v) { return hn::GetLane(hn::SumOfLanes(kF32, v)); }

template <class Row>
HWY_INLINE float RowMean(const Row& row, int64_t width) {
  const int64_t lanes = kLanes;
  VF32 sum0 = hn::Zero(kF32);
  VF32 sum1 = sum0;
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    sum0 = hn::Add(sum0, row.Load(i));
    sum1 = hn::Add(sum1, row.Load(i + lanes));
  }
  for (; i + lanes <= width; i += lanes) sum0 = hn::Add(sum0, row.Load(i));
  if (i < width) sum1 = hn::Add(sum1, row.LoadTail(i, width - i));
  return ReduceSum(hn::Add(sum0, sum1)) / static_cast<float>(width);
}

template <class Row>
HWY_INLINE float RowVariance(const Row& row, int64_t width, float mean) {
  const int64_t lanes = kLanes;
  const VF32 centre = hn::Set(kF32, mean);
  VF32 sum0 = hn::Zero(kF32);
  VF32 sum1 = sum0;
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    const VF32 x0 = hn::Sub(row.Load(i), centre);
    const VF32 x1 = hn::Sub(row.Load(i + lanes), centre);
    sum0 = hn::MulAdd(x0, x0, sum0);
    sum1 = hn::MulAdd(x1, x1, sum1);
  }
  for (; i + lanes <= width; i += lanes) {
    const VF32 x = hn::Sub(row.Load(i), centre);
    sum0 = hn::MulAdd(x, x, sum0);
  }
  if (i < width) {
    const VF32 x = hn::IfThenElseZero(hn::FirstN(kF32, width - i),
                                      hn::Sub(row.LoadTail(i, width - i), centre));
    sum1 = hn::MulAdd(x, x, sum1);
  }
  return ReduceSum(hn::Add(sum0, sum1)) / static_cast<float>(width);
}

/// y = (row - mean) * rstd * weight + bias; `index` is the row's place in `statistics`.
template <bool native = false, class Row, typename Out>
HWY_INLINE void NormalizeRow(const Row& row, int64_t width, const NormWeights& norm, Out* y,
                             const NormStatistics& statistics, int64_t index) {
  const float mean = RowMean(row, width);
  const float rstd = 1.0f / std::sqrt(RowVariance(row, width, mean) + norm.eps);
  const VF32 centre = hn::Set(kF32, mean);
  const VF32 scale = hn::Set(kF32, rstd);
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const VF32 x = hn::Mul(hn::Sub(row.Load(i), centre), scale);
    const VF32 weight = hn::LoadU(kF32, norm.weight + i);
    StoreVectorBy<native>(hn::MulAdd(x, weight, hn::LoadU(kF32, norm.bias + i)), y + i);
  }
  if (i < width) {
    const size_t rest = width - i;
    const VF32 x = hn::Mul(hn::Sub(row.LoadTail(i, rest), centre), scale);
    const VF32 weight = LoadPart(norm.weight + i, rest);
    StorePart(hn::MulAdd(x, weight, LoadPart(norm.bias + i, rest)), y + i, rest);
  }
  if (statistics.mean) statistics.mean[index] = mean;
  if (statistics.rstd) statistics.rstd[index] = rstd;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
