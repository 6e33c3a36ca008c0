// The activation functions on fp32 vectors, for kernels that fuse one behind their sums.
#if defined(HONE_KERNELS_CPU_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ACTIVATION_INL_H_
#undef HONE_KERNELS_CPU_ACTIVATION_INL_H_
#else
#define HONE_KERNELS_CPU_ACTIVATION_INL_H_
#endif

#include "kernels/cpu/activation.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Give the larger and the smaller one of a bound and x; where x is NaN, that. On x86 the order of
/// the two sees to it; what Highway has for NEON would give the bound.
template <class V>
HWY_INLINE V AtLeast(V bound, V x) {
#if HWY_TARGET == HWY_NEON
  return V{vmaxq_f32(bound.raw, x.raw)};
#else
  return hn::Max(bound, x);
#endif
}
template <class V>
HWY_INLINE V AtMost(V bound, V x) {
#if HWY_TARGET == HWY_NEON
  return V{vminq_f32(bound.raw, x.raw)};
#else
  return hn::Min(bound, x);
#endif
}

/// max(x, 0) - |x| / 2 * erfc(|x| / sqrt 2): within 1.3e-7 max(1, |x|), and no cancellation below
/// 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Gelu(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V erfc = ErfcNonNegative(d, hn::Mul(magnitude, hn::Set(d, 0.70710678f)));
  // erfc is 0 well before 16: the cap keeps inf * 0 out.
  const V half = hn::Mul(AtMost(hn::Set(d, 16.0f), magnitude), hn::Set(d, 0.5f));
  return hn::NegMulAdd(half, erfc, AtLeast(hn::Zero(d), x));
}

/// Computes x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x / 2 (1 + tanh u).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluTanh(D d, V x) {
  constexpr float k = 1.5957691216f;  // 2 sqrt(2 / pi)
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f * k), hn::Set(d, k));
  return hn::Mul(x, Sigmoid(d, hn::Mul(x, cubic)));
}

template <Activation activation, class D, class V = hn::Vec<D>>
HWY_INLINE V Activate(D d, V x) {
  if constexpr (activation == Activation::gelu) return Gelu(d, x);
  if constexpr (activation == Activation::gelu_tanh) return GeluTanh(d, x);
  if constexpr (activation == Activation::relu) return AtLeast(hn::Zero(d), x);
  if constexpr (activation == Activation::silu) return hn::Mul(x, Sigmoid(d, x));
  if constexpr (activation == Activation::tanh) return Tanh(d, x);
  return x;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
