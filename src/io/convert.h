#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace hone::io {

/// `in` holds `count` elements of `dtype`, aligned for it. Integers are rounded to fp32.
void to_fp32(DType dtype, const void* in, int64_t count, float* out);

/// The reverse for f64, f32, f16 and bf16 (round to nearest even); others are an internal error.
void from_fp32(const float* in, int64_t count, DType dtype, void* out);

}  // namespace hone::io
