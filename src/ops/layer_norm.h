#pragma once

#include "plan/plan.h"

namespace hone::ops {

/// y = (x - mean) / sqrt(variance + eps) * weight + bias over each row of x; statistics in fp32.
Value layer_norm(Plan& plan, Value x, Weight weight, Weight bias, float eps, DType out);

}  // namespace hone::ops
