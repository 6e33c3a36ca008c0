#pragma once

#include "autograd/tape.h"
#include "kernels/cpu/activation.h"

namespace hone::ops {

/// y = activation(x), elementwise, in x's dtype. Kept until the backward pass: x alone.
Value activate(Tape& tape, Value x, kernels::Activation activation);

}  // namespace hone::ops
