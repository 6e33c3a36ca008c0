#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace hone::io {

/// Converts `count` elements of `dtype`, aligned for it, to fp32. Integers are rounded.
void to_fp32(DType dtype, const void* in, int64_t count, float* out);

/// Converts fp32 to f64, f32, f16 or bf16 (rounded to nearest even); other dtypes are an internal
/// error.
void from_fp32(const float* in, int64_t count, DType dtype, void* out);

}  // namespace hone::io
