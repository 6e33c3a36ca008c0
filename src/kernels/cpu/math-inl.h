// exp, sigmoid, tanh and erfc of fp32 vectors, for sources that foreach_target.h compiles.
// NaN gives NaN. Errors were measured over 4e5 points of each range; tests/kernels/cpu holds them.
#if defined(HONE_KERNELS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_MATH_INL_H_
#undef HONE_KERNELS_CPU_MATH_INL_H_
#else
#define HONE_KERNELS_CPU_MATH_INL_H_
#endif

#include "kernels/cpu/dispatch.h"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// c[0] + c[1] x + c[2] x^2 + ...
template <class D, class V = hn::Vec<D>, size_t N>
HWY_INLINE V Polynomial(D d, V x, const float (&c)[N]) {
  V sum = hn::Set(d, c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

/// Splits e^x = p * 2^n: p is in [0.70, 1.42], and n + `bias` in the low bits of `power`.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpParts(D d, V x, float bias, V& power) {
  // Adding 1.5 * 2^23 rounds to an integer that is left in the low bits.
  const V magic = hn::Set(d, 12582912.0f + bias);
  power = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V n = hn::Sub(power, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693145752f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), r);
  // Chebyshev fit of (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2.
  constexpr float c[] = {0.5f, 0.1666657685f, 0.04166655444f, 0.008363202972f, 0.001392621347f};
  const V p = hn::MulAdd(Polynomial(d, r, c), hn::Mul(r, r), r);
  return hn::Add(p, hn::Set(d, 1.0f));
}

/// e^x for x <= 0 (also -inf): 1.1 ulp; 0 where the result would be subnormal.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpNonPositive(D d, V x) {
  const hn::RebindToSigned<D> di;
  V power;
  const V p = ExpParts(d, x, 127.0f, power);
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, power)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.336544f)), hn::Mul(p, scale));
}

/// e^x: 1.1 ulp; 0 where the result would be subnormal, inf where it overflows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  V power;
  const V p = ExpParts(d, x, 0.0f, power);
  // The power is added to the exponent, not multiplied: 2^128 is no float, though p * 2^128 may be
  // one.
  const auto bits = hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, power)));
  const V in_range = hn::BitCast(d, bits);
  const V tiny_is_zero = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.336544f)), in_range);
  // x * inf is inf above the range and NaN for NaN.
  const V above = hn::Mul(x, hn::Set(d, HUGE_VALF));
  return hn::IfThenElse(hn::Le(x, hn::Set(d, 88.722839f)), tiny_is_zero, above);
}

/// 1 / (1 + e^-x): 2 ulp where it is normal.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

/// tanh x: 2 ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V s = hn::Mul(x, x);
  // Fit of (tanh x - x) / x^3 in x^2 on |x| <= 0.6, where 1 - e^-2x would cancel.
  constexpr float c[] = {-0.33333299f, 0.13331959f, -0.053786684f, 0.020805385f, -0.005905868f};
  const V small = hn::MulAdd(hn::Mul(Polynomial(d, s, c), s), x, x);
  const V magnitude = hn::Abs(x);
  const V e = ExpNonPositive(d, hn::Mul(magnitude, hn::Set(d, -2.0f)));
  const V large = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.6f)), small, large);
}

/// 1 - erf(z) for z >= 0: within 9e-8 (absolute).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ErfcNonNegative(D d, V z) {
  // Fit of -log(erfc z) / z on [0, 4.3], weighted by the error it makes in erfc; it goes on rising
  // beyond, where erfc is below 1e-9.
  constexpr float c[] = {1.1283803f,     0.63659775f,  0.10291962f,    -0.019583959f,
                         0.00053693209f, 0.001032402f, -0.0003088024f, 3.144019e-5f};
  return ExpNonPositive(d, hn::Neg(hn::Mul(z, Polynomial(d, z, c))));
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
