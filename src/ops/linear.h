#pragma once

#include <optional>

#include "device/cpu_info.h"
#include "kernels/cpu/activation.h"
#include "plan/plan.h"

namespace hone::ops {

struct LinearOptions {
  kernels::Activation activation = kernels::Activation::none;
  std::optional<Value> residual = std::nullopt;  ///< [rows of x, rows of weight]
  DType out = DType::f32;
};

/// y = activation(x weight^T + bias) + residual; x is [rows, width of weight] in the weight's
/// dtype, weight a packed matrix of the instruction set `isa`, bias fp32 or absent. Sums are fp32.
Value linear(Plan& plan, Value x, Weight weight, Weight bias, Isa isa,
             const LinearOptions& options = {});

}  // namespace hone::ops
