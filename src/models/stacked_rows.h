#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/weights.h"
#include "models/adapter.h"
#include "models/folded_norm.h"

namespace hone::models {

/// A tensor of a checkpoint, with what an adapter adds to it.
struct TensorSource {
  const io::Weights* weights;
  const io::TensorInfo* tensor;
  std::shared_ptr<const LoraDelta> delta = {};
  std::shared_ptr<const RowTransform> transform = {};
  const io::TensorInfo* scales = nullptr;  ///< scales of a tensor of bytes, one a row
};

/// The tensors of one parameter, seen as one matrix of stacked rows.
class StackedRows {
 public:
  StackedRows(std::vector<TensorSource> parts, int64_t width)
      : parts_(std::move(parts)), width_(width) {}

  /// Reads rows [first, first + count) as fp32; a value that is not finite is an error.
  void read(int64_t first, int64_t count, float* out) const;

 private:
  std::vector<TensorSource> parts_;
  int64_t width_;
};

}  // namespace hone::models
