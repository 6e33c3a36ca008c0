#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// The values are those of kernels::Pooling (kernels/cpu/pooling.h), which is not included here.
enum class Pooling : uint8_t { first, mean, max };

/// y [sequences, width] = the first row, the mean or the maximum of rows offsets[s] to
/// offsets[s + 1] of x; a sequence without rows gives zeros. x and y are fp32, and sums run in the
/// order of the rows.
Status pool_sequences(Pooling pooling, const float* x, const int32_t* offsets, int64_t sequences,
                      int64_t width, float* y, Stream stream);

}  // namespace hone::kernels::cuda
