#include "kernels/cpu/sgd.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sgd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Updates `count` <= kLanes elements from i on.
template <bool whole>
HWY_INLINE void SgdVector(float lr, float momentum, float decay, bool nesterov,
                          const GradientUse& use, const SgdArrays& arrays, int64_t i,
                          size_t count) {
  const auto load = [count](const float* p)
                        HWY_ATTR { return whole ? LoadVector(p) : LoadPart(p, count); };
  const auto store = [count](VF32 value, auto* p)
                         HWY_ATTR { whole ? StoreVector(value, p) : StorePart(value, p, count); };
  const VF32 before = load(arrays.parameters + i);
  VF32 g = hn::Mul(load(arrays.gradients + i), hn::Set(kF32, use.scale));
  g = hn::MulAdd(before, hn::Set(kF32, decay), g);
  if (arrays.momentum) {
    const VF32 m = hn::MulAdd(load(arrays.momentum + i), hn::Set(kF32, momentum), g);
    store(m, arrays.momentum + i);
    g = nesterov ? hn::MulAdd(m, hn::Set(kF32, momentum), g) : m;
  }
  const VF32 after = hn::NegMulAdd(g, hn::Set(kF32, lr), before);
  store(after, arrays.parameters + i);
  if (use.zero) store(hn::Zero(kF32), arrays.gradients + i);
}

void SgdRange(float lr, float momentum, float decay, bool nesterov, const GradientUse& use,
              const SgdArrays& arrays, int64_t begin, int64_t end) {
  const int64_t lanes = kLanes;
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    SgdVector<true>(lr, momentum, decay, nesterov, use, arrays, i, kLanes);
  }
  if (i < end) SgdVector<false>(lr, momentum, decay, nesterov, use, arrays, i, end - i);
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/parameter_ranges.h"

namespace hone::kernels {

void sgd(const Sgd& options, ParameterRanges ranges, GradientUse use, const SgdArrays& arrays,
         ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(SgdRange);
  for_parameter_pieces(ranges, pool, [&](int64_t begin, int64_t end, const ParameterRange& range) {
    SgdArrays shifted = arrays;
    shifted.parameters += range.shift;
    shifted.gradients += range.gradient_shift;
    kernel(static_cast<float>(options.lr * double{range.lr_scale}),
           static_cast<float>(options.momentum),
           range.decay ? static_cast<float>(options.weight_decay) : 0.0f, options.nesterov, use,
           shifted, begin, end);
  });
}

}  // namespace hone::kernels
#endif
