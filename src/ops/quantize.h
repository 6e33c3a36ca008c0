#pragma once

#include "autograd/tape.h"
#include "kernels/cpu/quantize.h"

namespace hone::ops {

/// A value for x's rows as bytes: u8 [rows, kernels::quantized_stride(width)].
inline Value quantized_value(Plan& plan, Value x) {
  return plan.temporary(DType::u8, x.rows, kernels::quantized_stride(x.width));
}

/// x's rows as bytes with a scale and a zero each, for products with weights in int8. Emitted once
/// for all readers of x; layer_norm() emits it with its own output where asked. No gradient.
Value quantize(Tape& tape, Value x);

}  // namespace hone::ops
