#pragma once

#include "autograd/tape.h"
#include "kernels/cpu/quantize.h"

namespace hone::ops {

/// Declares a value for x's rows as bytes: u8 [rows, kernels::quantized_stride(width)].
inline Value quantized_value(Plan& plan, Value x) {
  return plan.temporary(DType::u8, x.rows, kernels::quantized_stride(x.width));
}

/// Says of a value that its rows are there as bytes too: u8 of a processor's int8, or fp8.
struct Quantized : Annotation {
  Value bytes;
};

/// Gives x's rows as bytes with a scale and a zero each, for products with weights in int8. It is
/// emitted once for all readers of x; layer_norm() emits it with its own output where asked. There
/// is no gradient.
Value quantize(Tape& tape, Value x);

}  // namespace hone::ops
