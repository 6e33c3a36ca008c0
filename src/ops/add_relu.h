#pragma once

#include "autograd/tape.h"

namespace hone::ops {

/// y = max(a + b, 0), and y = max(x, 0): where a residual block ends, and between its layers. The
/// backward pass reads y, which who comes next keeps anyway, and sets the gradients of what came in
/// to themselves plus dy where y is above 0.
Value add_relu(Tape& tape, Value a, Value b);
Value relu(Tape& tape, Value x);

}  // namespace hone::ops
