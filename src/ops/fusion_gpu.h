#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "autograd/tape.h"
#include "kernels/cuda/row_sums.h"

/// The ops of a GPU tell each other here what lets one kernel of the backward pass do the work of
/// several.
namespace hone::ops::gpu {

/// Gives the gradient of what y was made of, from the gradient dz of a product z = y weight^T that
/// read y, without that of y in between. Where `again`, y is made once more on the way. Returns
/// where that goes; nothing where it cannot be done.
using FusedBackward =
    std::function<std::optional<Value>(Value dz, const Weight& weight, bool again)>;
void set_fused_backward(Tape& tape, Value y, FusedBackward emit);
/// Gives the fused backward of y; empty where there is none, or not one step alone has read y.
FusedBackward fused_backward(Tape& tape, Value y);

/// Says that the backward pass of what made y can make y once more on its way, so that memory need
/// not hold it until then. What is made again may differ from y by the rounding of what it is made
/// of: it serves gradients of weights alone.
void set_rematerializable(Tape& tape, Value y);
/// Calls `emit` with x as the backward pass has it: at once, or, where x is rematerialised, when
/// that has happened.
void with_saved(Tape& tape, Value x, std::function<void(Value)> emit);
/// Says whether a reader waits for y. The step that can rematerialise y asks, when all readers of y
/// have been emitted.
bool must_rematerialize(Tape& tape, Value y);
/// Says that `copy` holds y from the last step on: calls the readers that wait.
void rematerialized(Tape& tape, Value y, Value copy);

/// Says that `partials` will hold sums over rows in parts, as `sums` says when the plan runs. They
/// are added up with others, in one step for many; that step gives the gradients of `weights`.
void add_row_sums(Tape& tape, Value partials, std::shared_ptr<kernels::cuda::RowSums> sums,
                  std::vector<Weight> weights);

}  // namespace hone::ops::gpu
