#pragma once

#include "autograd/tape.h"

namespace hone::ops {

/// y = factor * x; x itself where the factor is 1. Computed again for the backward pass.
Value scale(Tape& tape, Value x, float factor);

}  // namespace hone::ops
