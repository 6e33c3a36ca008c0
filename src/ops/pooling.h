#pragma once

#include "plan/plan.h"

namespace hone::ops {

enum class Pooling { cls, mean, max };

/// One row a sequence: its first token, or the mean or maximum over its tokens. x is fp32.
Value pool(Plan& plan, Value x, Value offsets, Pooling pooling);

/// Rows scaled to length 1 (a row shorter than 1e-12 by 1e12, as PyTorch does).
Value normalize_rows(Plan& plan, Value x);

/// Rows of x picked by index: int32 [count, 1].
Value gather_rows(Plan& plan, Value x, Value indices);

}  // namespace hone::ops
