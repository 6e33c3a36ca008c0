#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// A run of one flat array of parameters that is trained alike.
struct ParameterRange {
  int64_t begin;
  int64_t end;
  bool decay;  ///< whether the optimiser's weight_decay applies
  float lr_scale = 1.0f;
  int64_t shift = 0;           ///< parameter i lies at i + shift of its array
  int64_t gradient_shift = 0;  ///< gradient i lies at i + gradient_shift; all else at i
};

/// The ranges of a flat array, ascending, without overlap. What lies in none is frozen: not
/// touched.
struct ParameterRanges {
  const ParameterRange* data;
  int64_t count;
};

/// Says how an optimiser takes its gradients: times `scale` (a clipping coefficient, 1 / loss
/// scale).
struct GradientUse {
  float scale = 1.0f;
  bool zero = false;  ///< set the gradient to 0 behind itself
};

/// The names and formulas are PyTorch's; scalars are computed in double, as there.
struct AdamW {
  double lr;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  int64_t step = 1;  ///< number of this update, from 1: bias correction
};

/// Flat fp32 arrays that ranges index.
struct AdamWArrays {
  float* parameters;
  float* gradients;
  float* m;  ///< exp_avg
  float* v;  ///< exp_avg_sq
};

/// Updates in one pass: p -= lr wd p; m += (1 - beta1)(g - m); v = beta2 v + (1 - beta2) g^2;
/// p -= lr / (1 - beta1^step) m / (sqrt(v) / sqrt(1 - beta2^step) + eps).
void adamw(const AdamW& options, ParameterRanges ranges, GradientUse use, const AdamWArrays& arrays,
           ThreadPool& pool);

/// Moments of 8 bits: in blocks of DynamicMap::kBlock, of which the last is whole, too, each value
/// is its code's times the block's scale, which is the largest magnitude in it. All begin as 0.
struct QuantizedMoments {
  uint8_t* codes;
  float* scales;
};
struct AdamW8bitArrays {
  float* parameters;
  float* gradients;
  QuantizedMoments m;  ///< by kSignedMap
  QuantizedMoments v;  ///< by kUnsignedMap
};

/// Updates as adamw() does, with moments that are quantised behind the update, to the nearest
/// value of their map. A range begins where a block does.
void adamw_8bit(const AdamW& options, ParameterRanges ranges, GradientUse use,
                const AdamW8bitArrays& arrays, ThreadPool& pool);

}  // namespace hone::kernels
