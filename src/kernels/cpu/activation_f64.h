#pragma once

#include <cmath>
#include <numbers>

#include "kernels/cpu/activation.h"

namespace hone::kernels {

struct ActivationF64 {
  double value;
  double slope;
};

/// Computes the activations in double, plainly, for gradient checks.
inline ActivationF64 activation_f64(Activation activation, double x) {
  const auto sigmoid = [](double t) { return 1.0 / (1.0 + std::exp(-t)); };
  switch (activation) {
    case Activation::gelu: {
      const double cdf = 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2);
      const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      return {x * cdf, cdf + x * density};
    }
    case Activation::gelu_tanh: {
      const double k = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
      const double s = sigmoid(k * (x + 0.044715 * x * x * x));
      return {x * s, s + x * s * (1 - s) * k * (1 + 3 * 0.044715 * x * x)};
    }
    case Activation::silu: {
      const double s = sigmoid(x);
      return {x * s, s * (1 + x * (1 - s))};
    }
    case Activation::tanh: {
      const double y = std::tanh(x);
      return {y, 1 - y * y};
    }
    case Activation::relu:
      return {x > 0 ? x : 0.0, x > 0 ? 1.0 : 0.0};
    case Activation::none:
      break;
  }
  return {x, 1.0};
}

}  // namespace hone::kernels
