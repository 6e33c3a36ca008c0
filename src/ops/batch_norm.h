#pragma once

#include "autograd/tape.h"

namespace hone::ops {

struct BatchNormParameters {
  Weight weight;
  Weight bias;
  Weight running_mean;      ///< state that training writes
  Weight running_variance;  ///< state that training writes
  float eps = 1e-5f;
  float momentum = 0.1f;
};

/// y = (x - mean) / sqrt(variance + eps) * weight + bias over the rows of x, by channel. Training
/// takes the statistics of the rows and blends them into the running ones, the variance by n - 1 as
/// PyTorch has it; inference takes the running ones, so that a row's bits depend on it alone.
/// Backward adds (+=) to the gradients of weight and bias and sets x's.
Value batch_norm(Tape& tape, Value x, const BatchNormParameters& norm);

}  // namespace hone::ops
