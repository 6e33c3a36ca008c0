#pragma once

#include "autograd/tape.h"

namespace hone::ops {

enum class Pooling { cls, mean, max };

/// Gives one row a sequence: its first token, or the mean or maximum over its tokens. x is fp32. It
/// is for inference alone and has no gradient.
Value pool(Tape& tape, Value x, Value offsets, Pooling pooling);

/// Scales rows to length 1 (a row shorter than 1e-12 by 1e12, as PyTorch does). It has no gradient.
Value normalize_rows(Tape& tape, Value x);

/// Picks rows of x by index: int32 [count, 1], none twice. Backward sets x's gradient to itself
/// plus the rows' at their places.
Value gather_rows(Tape& tape, Value x, Value indices);

}  // namespace hone::ops
