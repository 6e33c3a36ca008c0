#pragma once

#include <cmath>

#include "kernels/cpu/adamw.h"

namespace hone::kernels {

/// Holds what one range's update multiplies by, rounded from double once.
struct AdamWScalars {
  float gradient_scale;
  float rest1;  ///< 1 - beta1
  float beta2;
  float rest2;        ///< 1 - beta2
  float root_factor;  ///< 1 / sqrt(1 - beta2^step)
  float eps;
  float step_size;  ///< lr / (1 - beta1^step)
  float keep;       ///< 1 - lr * weight decay
};

inline AdamWScalars scalars_of(const AdamW& options, const GradientUse& use,
                               const ParameterRange& range) {
  const auto step = static_cast<double>(options.step);
  const double lr = options.lr * double{range.lr_scale};
  return {.gradient_scale = use.scale,
          .rest1 = static_cast<float>(1.0 - options.beta1),
          .beta2 = static_cast<float>(options.beta2),
          .rest2 = static_cast<float>(1.0 - options.beta2),
          .root_factor = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(options.beta2, step))),
          .eps = static_cast<float>(options.eps),
          .step_size = static_cast<float>(lr / (1.0 - std::pow(options.beta1, step))),
          .keep = static_cast<float>(range.decay ? 1.0 - lr * options.weight_decay : 1.0)};
}

}  // namespace hone::kernels
