#pragma once

#include "ops/linear.h"

namespace hone::ops {

/// Emits linear() with a weight in int8: x is quantised (see quantize()), sums are exact integers,
/// bias and activation are fp32. It serves inference alone.
Value linear_int8(Tape& tape, Value x, Weight weight, Weight bias, Isa isa,
                  const LinearOptions& options);

}  // namespace hone::ops
