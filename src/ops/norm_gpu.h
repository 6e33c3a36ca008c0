#pragma once

#include "ops/gpu.h"

/// The parts of a norm on a GPU that a layer norm shares with an embedding, whose kernel normalises
/// the rows that it sums.
namespace hone::ops::gpu {

/// The values that a norm keeps for its backward pass.
struct NormKept {
  Value xhat;
  Value rstd;
};

/// The values to keep for a norm that gives y; none where nothing is trained.
std::optional<NormKept> norm_kept(Tape& tape, Value y);

/// The arguments of a norm's kernel, less its inputs and its dropouts.
kernels::cuda::NormForward norm_forward(const Frame& frame, const NormParameters& norm, Value y,
                                        const std::optional<NormKept>& kept);

struct NormBackward {
  NormParameters norm;
  NormKept kept;
  Weight bias = {};          ///< the bias of the product before the norm
  DropoutSite dropout = {};  ///< applied to x + bias
  DropoutSite output_dropout = {};

  /// Emits the backward step and returns the gradients of the sum that was normalised, and of
  /// x + bias. Where `again`, the step also turns xhat into y, less its dropout.
  std::pair<Value, Value> emit(Tape& tape, Value dy, bool again = false) const;
};

}  // namespace hone::ops::gpu
