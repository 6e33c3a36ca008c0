#include "kernels/cpu/adamw.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adamw.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/adamw_scalars.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// The update of one vector; m and v are replaced.
HWY_INLINE VF32 Update(const AdamWScalars& s, VF32 parameter, VF32 gradient, VF32& m, VF32& v) {
  const VF32 g = hn::Mul(gradient, hn::Set(kF32, s.gradient_scale));
  m = hn::MulAdd(hn::Sub(g, m), hn::Set(kF32, s.rest1), m);
  v = hn::MulAdd(hn::Mul(g, g), hn::Set(kF32, s.rest2), hn::Mul(v, hn::Set(kF32, s.beta2)));
  const VF32 root = hn::Mul(hn::Sqrt(v), hn::Set(kF32, s.root_factor));
  const VF32 ratio = hn::Div(m, hn::Add(root, hn::Set(kF32, s.eps)));
  return hn::NegMulAdd(ratio, hn::Set(kF32, s.step_size),
                       hn::Mul(parameter, hn::Set(kF32, s.keep)));
}

void AdamWRange(const AdamWScalars& s, const AdamWArrays& arrays, int64_t begin, int64_t end,
                bool zero) {
  const int64_t lanes = kLanes;
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    VF32 m = LoadVector(arrays.m + i), v = LoadVector(arrays.v + i);
    const VF32 p =
        Update(s, LoadVector(arrays.parameters + i), LoadVector(arrays.gradients + i), m, v);
    StoreVector(m, arrays.m + i);
    StoreVector(v, arrays.v + i);
    StoreVector(p, arrays.parameters + i);
    if (zero) StoreVector(hn::Zero(kF32), arrays.gradients + i);
  }
  if (i < end) {
    const size_t rest = end - i;
    VF32 m = LoadPart(arrays.m + i, rest), v = LoadPart(arrays.v + i, rest);
    const VF32 p = Update(s, LoadPart(arrays.parameters + i, rest),
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
#include <cmath>

#include "kernels/cpu/parameter_ranges.h"

namespace hone::kernels {

void adamw(const AdamW& options, ParameterRanges ranges, GradientUse use, const AdamWArrays& arrays,
           ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(AdamWRange);
  const auto step = static_cast<double>(options.step);
  const double correction1 = 1.0 - std::pow(options.beta1, step);
  const double correction2 = 1.0 - std::pow(options.beta2, step);
  for_parameter_pieces(ranges, pool, [&](int64_t begin, int64_t end, const ParameterRange& range) {
    const double lr = options.lr * double{range.lr_scale};
    const AdamWScalars scalars{
        .gradient_scale = use.scale,
        .rest1 = static_cast<float>(1.0 - options.beta1),
        .beta2 = static_cast<float>(options.beta2),
        .rest2 = static_cast<float>(1.0 - options.beta2),
        .root_factor = static_cast<float>(1.0 / std::sqrt(correction2)),
        .eps = static_cast<float>(options.eps),
        .step_size = static_cast<float>(lr / correction1),
        .keep = static_cast<float>(range.decay ? 1.0 - lr * options.weight_decay : 1.0)};
    AdamWArrays shifted = arrays;
    shifted.parameters += range.shift;
    kernel(scalars, shifted, begin, end, use.zero);
  });
}

}  // namespace hone::kernels
#endif
