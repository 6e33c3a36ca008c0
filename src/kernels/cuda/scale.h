#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// y = factor * x over `count` elements; y may be x. The backward pass scales dy by it likewise.
Status scale(DType dtype, const void* x, int64_t count, float factor, void* y, Stream stream);

}  // namespace hone::kernels::cuda
