#pragma once

#include "autograd/tape.h"

namespace hone::ops {

/// Adds `gradient` to that of `value`: sets it where there was none, else emits their sum.
void accumulate(Tape& tape, Value value, Value gradient);

}  // namespace hone::ops
