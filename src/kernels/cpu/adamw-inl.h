// AdamW's update of one vector.
#if defined(HONE_KERNELS_CPU_ADAMW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ADAMW_INL_H_
#undef HONE_KERNELS_CPU_ADAMW_INL_H_
#else
#define HONE_KERNELS_CPU_ADAMW_INL_H_
#endif

#include "kernels/cpu/adamw_scalars.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Gives the new parameter; m and v are replaced.
HWY_INLINE VF32 AdamWUpdate(const AdamWScalars& s, VF32 parameter, VF32 gradient, VF32& m,
                            VF32& v) {
  const VF32 g = hn::Mul(gradient, hn::Set(kF32, s.gradient_scale));
  m = hn::MulAdd(hn::Sub(g, m), hn::Set(kF32, s.rest1), m);
  v = hn::MulAdd(hn::Mul(g, g), hn::Set(kF32, s.rest2), hn::Mul(v, hn::Set(kF32, s.beta2)));
  const VF32 root = hn::Mul(hn::Sqrt(v), hn::Set(kF32, s.root_factor));
  const VF32 ratio = hn::Div(m, hn::Add(root, hn::Set(kF32, s.eps)));
  return hn::NegMulAdd(ratio, hn::Set(kF32, s.step_size),
                       hn::Mul(parameter, hn::Set(kF32, s.keep)));
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
