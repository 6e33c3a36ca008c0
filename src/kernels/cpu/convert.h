#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// y[i] = x[i] for i < count, among f32, bf16 and f16; both types must be of these. Rounds to
/// nearest even; NaN stays NaN; what is too large for f16 becomes inf. No alignment is needed.
/// The arrays must not overlap.
void convert(DType from, const void* x, DType to, void* y, int64_t count, ThreadPool& pool);

/// y[i] = x[i] rounded to f16, held in fp32. y may be x.
void round_to_f16(const float* x, int64_t count, float* y, ThreadPool& pool);

}  // namespace hone::kernels
