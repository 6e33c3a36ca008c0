// Slopes of the activation functions on fp32 vectors, with their values.
#if defined(HONE_KERNELS_CPU_ACTIVATION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ACTIVATION_BACKWARD_INL_H_
#undef HONE_KERNELS_CPU_ACTIVATION_BACKWARD_INL_H_
#else
#define HONE_KERNELS_CPU_ACTIVATION_BACKWARD_INL_H_
#endif

#include "kernels/cpu/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Gives x, or +-16 beyond: the slopes are constant there, and inf * 0 is kept out. NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Capped(D d, V x) {
  return AtMost(hn::Set(d, 16.0f), AtLeast(hn::Set(d, -16.0f), x));
}

/// Computes Phi(x) + x phi(x).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluSlope(D d, V x, V& y) {
  const V magnitude = hn::Abs(x);
  const V erfc = ErfcNonNegative(d, hn::Mul(magnitude, hn::Set(d, 0.70710678f)));
  const V capped = Capped(d, x);
  const V half = hn::Mul(hn::Abs(capped), hn::Set(d, 0.5f));
  y = hn::NegMulAdd(half, erfc, AtLeast(hn::Zero(d), x));
  const V tail = hn::Mul(erfc, hn::Set(d, 0.5f));
  const V phi = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
  const V square = hn::Mul(capped, hn::Mul(capped, hn::Set(d, -0.5f)));
  const V density = hn::Mul(ExpNonPositive(d, square), hn::Set(d, 0.39894228f));
  return hn::MulAdd(capped, density, phi);
}

/// Computes sigmoid(x); `rest` becomes 1 - sigmoid(x) without cancellation, or anything where the
/// sigmoid is 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SigmoidAndRest(D d, V x, V& rest) {
  const V one = hn::Set(d, 1.0f);
  const V e = Exp(d, hn::Neg(x));
  const V s = hn::Div(one, hn::Add(one, e));
  rest = hn::Mul(AtMost(hn::Set(d, 3e38f), e), s);
  return s;
}

/// Computes s + x s (1 - s) w' for s = sigmoid(w), w = 2 sqrt(2 / pi) (x + 0.044715 x^3).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluTanhSlope(D d, V x, V& y) {
  constexpr float k = 1.5957691216f;
  const V capped = Capped(d, x);
  const V square = hn::Mul(capped, capped);
  const V cubic = hn::MulAdd(square, hn::Set(d, 0.044715f * k), hn::Set(d, k));
  V remainder;
  const V s = SigmoidAndRest(d, hn::Mul(capped, cubic), remainder);
  y = hn::Mul(x, s);
  const V inner = hn::MulAdd(square, hn::Set(d, 3.0f * 0.044715f * k), hn::Set(d, k));
  return hn::MulAdd(s, hn::Mul(hn::Mul(capped, inner), remainder), s);
}

/// Computes s (1 + x (1 - s)) for s = sigmoid(x).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SiluSlope(D d, V x, V& y) {
  V rest;
  const V s = SigmoidAndRest(d, x, rest);
  y = hn::Mul(x, s);
  const V finite = AtMost(hn::Set(d, 100.0f), AtLeast(hn::Set(d, -100.0f), x));
  return hn::MulAdd(s, hn::Mul(finite, rest), s);
}

/// Gives the slope at x; y becomes the activation of x.
template <Activation activation, class D, class V = hn::Vec<D>>
HWY_INLINE V ActivationSlope(D d, V x, V& y) {
  if constexpr (activation == Activation::gelu) return GeluSlope(d, x, y);
  if constexpr (activation == Activation::gelu_tanh) return GeluTanhSlope(d, x, y);
  if constexpr (activation == Activation::silu) return SiluSlope(d, x, y);
  y = Activate<activation>(d, x);
  const V one = hn::Set(d, 1.0f);
  if constexpr (activation == Activation::relu) {
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
  }
  if constexpr (activation == Activation::tanh) return hn::NegMulAdd(y, y, one);
  return one;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
