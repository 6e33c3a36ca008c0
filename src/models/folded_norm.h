#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "io/weights.h"

namespace hone::models {

/// What becomes of a tensor's rows as they are read: row * factors[i] + terms[i]. Empty ones change
/// nothing.
struct RowTransform {
  std::vector<float> factors;
  std::vector<float> terms;

  /// Changes rows [first, first + count) of `width`, which lie in `rows`.
  void apply(int64_t first, int64_t count, int64_t width, float* rows) const;
};

/// The four tensors of a batch norm in a checkpoint.
struct NormTensors {
  const io::TensorInfo* weight;
  const io::TensorInfo* running_mean;
  const io::TensorInfo* running_var;
};

/// A batch norm that takes its running statistics scales and shifts channels, which the convolution
/// before it can do itself: gives what becomes of its rows, and of the norm's bias as its own.
RowTransform fold_into_rows(const io::Weights& weights, const NormTensors& norm);
RowTransform fold_into_bias(const io::Weights& weights, const NormTensors& norm);

}  // namespace hone::models
