#pragma once

#include "autograd/tape.h"

namespace hone::ops {

/// Computes y = factor * x; gives x itself where the factor is 1. y is computed again for the
/// backward pass.
Value scale(Tape& tape, Value x, float factor);

}  // namespace hone::ops
