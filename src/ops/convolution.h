#pragma once

#include <optional>

#include "autograd/tape.h"
#include "device/cpu_info.h"
#include "kernels/cpu/window.h"

namespace hone::ops {

struct ConvolutionOptions {
  DType out = DType::f32;
  std::optional<Value> residual = {};  ///< is added, for inference alone; shaped as y
  bool relu = false;                   ///< y is cut at 0 behind all else, for inference alone
};

/// y = x * weight + bias (+ residual, then ReLU): x is images [rows, window.channels] in the
/// weight's dtype, y [rows of `out_rows`, weight.rows]. The weight is a packed matrix of the
/// instruction set `isa`, [out, kernel, kernel, in] as [out, window.covered()]; the bias is fp32,
/// and for inference alone: in training a norm follows, which has one. Sums are fp32. In training x
/// may be bf16 or fp16 beside a weight in fp32, as linear() has it. Backward adds (+=) to the
/// weight's gradient and sets x's to itself plus its share.
Value convolution(Tape& tape, Value x, const kernels::Window& window, Axis out_rows, Weight weight,
                  Weight bias, Isa isa, const ConvolutionOptions& options = {});

}  // namespace hone::ops
