#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/gemm.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// Rows of x [rows, width] as bytes with a scale and a zero each: from the row's least to its
/// largest value, 0 included, in 255 steps, rounded to nearest even. 0 stays exactly 0. A row's
/// bits depend on that row alone. For float and bf16.
template <typename T>
void quantize_rows(const T* x, int64_t rows, int64_t width, uint8_t* q, RowScale* scales,
                   ThreadPool& pool);

/// A row of a weight as bytes from -127 to 127, 0 for 0; returns the scale of a step, 0 where the
/// row is all 0. Values are finite.
float quantize_symmetric(const float* row, int64_t width, int8_t* q);

}  // namespace hone::kernels
