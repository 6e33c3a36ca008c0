#pragma once

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/elementwise.h"

namespace hone::kernels::cuda {

struct ActivationValue {
  float value;
  float slope;
};

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/// kernels/cpu/activation_f64.h in fp32. The unused half of a result is not computed.
template <Activation kActivation>
__device__ __forceinline__ ActivationValue activation_of(float x) {
  if constexpr (kActivation == Activation::gelu) {
    const float cdf = 0.5f + 0.5f * erff(x * 0.70710678f);
    const float density = 0.39894228f * __expf(-0.5f * x * x);
    return {x * cdf, cdf + x * density};
  } else if constexpr (kActivation == Activation::gelu_tanh) {
    constexpr float k = 1.5957691216f;  // 2 sqrt(2 / pi)
    const float s = sigmoid(k * (x + 0.044715f * x * x * x));
    return {x * s, s + x * s * (1.0f - s) * k * (1.0f + 3.0f * 0.044715f * x * x)};
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
