#pragma once

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

}  // namespace hone::kernels
