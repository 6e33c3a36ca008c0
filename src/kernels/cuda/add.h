#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// out = a + b over `count` elements; out may be a or b. Gradients of one value that come from
/// several places are added up by it.
Status add(DType dtype, const void* a, const void* b, int64_t count, void* out, Stream stream);

}  // namespace hone::kernels::cuda
