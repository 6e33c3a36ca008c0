#pragma once

#include <optional>

#include "autograd/tape.h"
#include "device/cpu_info.h"
#include "kernels/cpu/activation.h"

namespace hone::ops {

struct LinearOptions {
  kernels::Activation activation = kernels::Activation::none;
  DType out = DType::f32;
  /// Where set, the result is added (+=) to this value's columns from `column` on, and that value
  /// is the one returned: an adapter's share of a product. There is no activation then, and `out`
  /// is not read.
  std::optional<Value> into = {};
  int64_t column = 0;
  /// Where true, with fp8 weights, y is there only as bytes, for products with such weights.
  bool bytes_alone = false;
};

/// y = activation(x weight^T + bias); x is [rows, width of weight] in the weight's dtype (fp32 or
/// bf16 beside int8, see linear_int8.h; bf16 beside fp8, see gpu.h), weight a packed matrix of the
/// instruction set `isa`, bias fp32 or absent. Sums are fp32. In training x may be bf16 or fp16
/// beside a weight in fp32: the product reads the shadow of its slot in that dtype. Backward adds
/// (+=) to the gradients of weight and bias, and sets x's to itself plus its share. In training the
/// activation's input is kept and its output computed again.
Value linear(Tape& tape, Value x, Weight weight, Weight bias, Isa isa,
             const LinearOptions& options = {});

}  // namespace hone::ops
