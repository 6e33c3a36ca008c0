#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// y = max(a + b, 0) over flat arrays; b may be null. NaN stays NaN. y may be a.
Status add_relu(DType dtype, const void* a, const void* b, int64_t count, void* y, Stream stream);
/// dx = dy where y is above 0, else 0.
Status relu_backward(DType dtype, const void* dy, const void* y, int64_t count, void* dx,
                     Stream stream);

}  // namespace hone::kernels::cuda
