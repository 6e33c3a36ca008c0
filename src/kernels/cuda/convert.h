#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// y = x, rounded to nearest, where either dtype is f32, bf16 or f16. x and y do not overlap.
Status convert(DType from, const void* x, DType to, void* y, int64_t count, Stream stream);

}  // namespace hone::kernels::cuda
