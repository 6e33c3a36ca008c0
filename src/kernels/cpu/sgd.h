#pragma once

#include "kernels/cpu/adamw.h"

namespace hone::kernels {

struct Sgd {
  double lr;
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;  ///< read where there is a momentum
};

/// Flat fp32 arrays that ranges index.
struct SgdArrays {
  float* parameters;
  float* gradients;
  float* momentum;  ///< zeros before the first step; null where options.momentum is 0
};

/// Updates in one pass, as PyTorch's SGD without dampening: g += wd p; m = momentum m + g; p -= lr
/// m, or p -= lr (g + momentum m) by Nesterov.
void sgd(const Sgd& options, ParameterRanges ranges, GradientUse use, const SgdArrays& arrays,
         ThreadPool& pool);

}  // namespace hone::kernels
