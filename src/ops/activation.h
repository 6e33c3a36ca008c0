#pragma once

#include "autograd/tape.h"
#include "kernels/cpu/activation.h"

namespace hone::ops {

/// Computes y = activation(x), elementwise, in x's dtype. The backward pass keeps x alone.
Value activate(Tape& tape, Value x, kernels::Activation activation);

}  // namespace hone::ops
