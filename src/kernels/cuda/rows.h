#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// out = a + b; out may be either.
Status add(DType dtype, const void* a, const void* b, int64_t count, void* out, Stream stream);
/// y = factor * x; y may be x.
Status scale(DType dtype, const void* x, int64_t count, float factor, void* y, Stream stream);

/// kernels/cpu/pooling.h: its numbers, its sums.
enum class Pooling : uint8_t { first, mean, max };
/// y fp32 [sequences, width] of x fp32, rows offsets[s] to offsets[s + 1]; a sequence without rows
/// gives zeros.
Status pool_sequences(Pooling pooling, const float* x, const int32_t* offsets, int64_t sequences,
                      int64_t width, float* y, Stream stream);
/// Rows scaled to length 1, one shorter than 1e-12 by 1e12.
Status l2_normalize(const float* x, int64_t rows, int64_t width, float* y, Stream stream);

}  // namespace hone::kernels::cuda
