#pragma once

#include "autograd/tape.h"

namespace hone::ops {

/// Converts x to another of fp32, bf16 and fp16; gives x itself where it is in it already. The
/// gradient goes back in x's dtype.
Value convert(Tape& tape, Value x, DType dtype);

}  // namespace hone::ops
