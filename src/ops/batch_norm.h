#pragma once

#include <optional>

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

struct BatchNormOptions {
  std::optional<Value> residual = {};  ///< is added before the ReLU; shaped as y
  bool relu = false;                   ///< y is cut at 0 behind all else
  /// Where true, training takes the running statistics as inference does, and leaves them as they
  /// are.
  bool frozen = false;
};

/// y = (x - mean) / sqrt(variance + eps) * weight + bias over the rows of x, by channel. Training
/// takes the statistics of the rows (see SharedNorms) and blends them into the running ones, the
/// variance by n - 1 as PyTorch has it; inference takes the running ones, so that a row's bits
/// depend on it alone. The residual and ReLU follow, where there are such. Backward adds (+=) to
/// the gradients of weight and bias and sets those of x and the residual to themselves plus their
/// share.
Value batch_norm(Tape& tape, Value x, const BatchNormParameters& norm,
                 const BatchNormOptions& options = {});

}  // namespace hone::ops
