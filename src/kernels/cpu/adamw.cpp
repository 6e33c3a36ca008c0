#include "kernels/cpu/adamw.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adamw.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/adamw-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

void AdamWRange(const AdamWScalars& s, const AdamWArrays& arrays, int64_t begin, int64_t end,
                bool zero) {
  const int64_t lanes = kLanes;
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    VF32 m = LoadVector(arrays.m + i), v = LoadVector(arrays.v + i);
    const VF32 p =
        AdamWUpdate(s, LoadVector(arrays.parameters + i), LoadVector(arrays.gradients + i), m, v);
    StoreVector(m, arrays.m + i);
    StoreVector(v, arrays.v + i);
    StoreVector(p, arrays.parameters + i);
    if (zero) StoreVector(hn::Zero(kF32), arrays.gradients + i);
  }
  if (i < end) {
    const size_t rest = end - i;
    VF32 m = LoadPart(arrays.m + i, rest), v = LoadPart(arrays.v + i, rest);
    const VF32 p = AdamWUpdate(s, LoadPart(arrays.parameters + i, rest),
                               LoadPart(arrays.gradients + i, rest), m, v);
    StorePart(m, arrays.m + i, rest);
    StorePart(v, arrays.v + i, rest);
    StorePart(p, arrays.parameters + i, rest);
    if (zero) StorePart(hn::Zero(kF32), arrays.gradients + i, rest);
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/parameter_ranges.h"

namespace hone::kernels {

void adamw(const AdamW& options, ParameterRanges ranges, GradientUse use, const AdamWArrays& arrays,
           ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(AdamWRange);
  for_parameter_pieces(ranges, pool, [&](int64_t begin, int64_t end, const ParameterRange& range) {
    AdamWArrays shifted = arrays;
    shifted.parameters += range.shift;
    shifted.gradients += range.gradient_shift;
    kernel(scalars_of(options, use, range), shifted, begin, end, use.zero);
  });
}

}  // namespace hone::kernels
#endif
