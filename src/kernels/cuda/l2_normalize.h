#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// y = x / max(|x|, 1e-12) for each row of fp32 [rows, width].
Status l2_normalize(const float* x, int64_t rows, int64_t width, float* y, Stream stream);

}  // namespace hone::kernels::cuda
