#pragma once

#include "ops/loss.h"

namespace hone::ops {

/// Gives the batch's share of the mean loss of adaptive exits (kernels/cpu/adaptive_loss.h), fp64
/// [1, 1]; sets (=) the gradients of all logits. `exits` have a column more than `inputs.logits`,
/// the last layer's. Plans of a processor alone.
Value adaptive_loss(Tape& tape, const std::vector<Value>& exits, const LossInputs& inputs,
                    const LossOptions& options);

}  // namespace hone::ops
