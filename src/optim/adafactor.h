#pragma once

#include "base/thread_pool.h"
#include "kernels/cpu/adamw.h"
#include "nn/parameters.h"

namespace hone::optim {

/// The defaults are transformers' Adafactor as Trainer makes it: scale_parameter and relative_step
/// are off, and there is no first moment.
struct Adafactor {
  double lr;
  double weight_decay = 0;
  int64_t step = 1;  ///< number of this update, from 1
  double eps = 1e-30;
  double decay_rate = -0.8;
  double clip_threshold = 1;
};

/// What is kept of one slot: the means of rows and of columns of the squares' moving average, for
/// each of its tensors; a vector has all of it.
struct AdafactorArrays {
  float* weights;   ///< they lie as the slot does
  float* gradient;  ///< it lies likewise
  float* rows;      ///< by row
  float* columns;   ///< by tensor and column
  float* squares;   ///< a vector's, in place of rows and columns
};

/// Updates one slot on the processor. Sums are in one order, whatever the threads.
void adafactor(const Adafactor& options, const nn::Parameter& parameter, Isa isa,
               const kernels::GradientUse& use, const AdafactorArrays& arrays, ThreadPool& pool);

}  // namespace hone::optim
