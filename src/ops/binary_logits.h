#pragma once

#include "autograd/tape.h"

namespace hone::ops {

/// Makes one logit two: y = (0, z), fp32 [rows, 2] of [rows, 1]. Softmax then gives sigmoid(z) to
/// the second class, and cross-entropy is the binary one.
Value binary_logits(Tape& tape, Value z);

}  // namespace hone::ops
