#pragma once

#include "kernels/cuda/activation.h"
#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {

struct ActivationValue {
  float value;
  float slope;
};

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ __forceinline__ float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

/// GELU for values stored in 16 bits: the normal distribution by Abramowitz and Stegun 7.1.26, off
/// by less than 1e-7, whose exponential is that of the density. erff() takes twice the time of
/// reading and writing the values.
__device__ __forceinline__ ActivationValue narrow_gelu(float x) {
  const float size = fabsf(x);
  const float t = fast_reciprocal(fmaf(0.3275911f * 0.70710678f, size, 1.0f));
  const float bell = fast_exp2(-0.72134752f * x * x);  // e^(-x^2 / 2)
  float tail = fmaf(0.5f * 1.061405429f, t, 0.5f * -1.453152027f);
  tail = fmaf(tail, t, 0.5f * 1.421413741f);
  tail = fmaf(tail, t, 0.5f * -0.284496736f);
  tail = fmaf(tail, t, 0.5f * 0.254829592f);
  tail *= t * bell;
  const float cdf = x < 0.0f ? tail : 1.0f - tail;
  return {fmaf(-size, tail, fmaxf(x, 0.0f)), fmaf(0.39894228f * x, bell, cdf)};
}

/// Computes kernels/cpu/activation_f64.h in fp32, for values stored as T. The unused half of a
/// result is not computed.
template <Activation kActivation, typename T>
__device__ __forceinline__ ActivationValue activation_of(float x) {
  if constexpr (kActivation == Activation::gelu && sizeof(T) == 2) {
    return narrow_gelu(x);
  } else if constexpr (kActivation == Activation::gelu) {
    const float cdf = 0.5f + 0.5f * erff(x * 0.70710678f);
    const float density = 0.39894228f * __expf(-0.5f * x * x);
    return {x * cdf, cdf + x * density};
  } else if constexpr (kActivation == Activation::gelu_tanh) {
    constexpr float k = 1.5957691216f;  // 2 sqrt(2 / pi)
    const float u = k * (x + 0.044715f * x * x * x);
    const float s = sigmoid(u), rest = sigmoid(-u);  // 1 - s would cancel
    return {x * s, s + x * s * rest * k * (1.0f + 3.0f * 0.044715f * x * x)};
  } else if constexpr (kActivation == Activation::silu) {
    const float s = sigmoid(x);
    return {x * s, s * (1.0f + x * (1.0f - s))};
  } else if constexpr (kActivation == Activation::tanh) {
    const float y = tanhf(x);
    return {y, 1.0f - y * y};
  } else if constexpr (kActivation == Activation::relu) {
    return {x > 0.0f ? x : 0.0f, x > 0.0f ? 1.0f : 0.0f};
  } else {
    return {x, 1.0f};
  }
}

/// Calls body with the activation as an integral constant.
template <typename Body>
Status by_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::none:
      return body(std::integral_constant<Activation, Activation::none>());
    case Activation::gelu:
      return body(std::integral_constant<Activation, Activation::gelu>());
    case Activation::gelu_tanh:
      return body(std::integral_constant<Activation, Activation::gelu_tanh>());
    case Activation::relu:
      return body(std::integral_constant<Activation, Activation::relu>());
    case Activation::silu:
      return body(std::integral_constant<Activation, Activation::silu>());
    case Activation::tanh:
      return body(std::integral_constant<Activation, Activation::tanh>());
  }
  return "an unknown activation";
}

}  // namespace hone::kernels::cuda
