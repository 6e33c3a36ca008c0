#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// out row i = x row index[i] for i < count; x rows are `stride` elements apart, out is dense. An
/// index below 0 gives zeros.
Status gather_rows(DType dtype, const void* x, int64_t stride, const int32_t* index, int64_t count,
                   int64_t width, void* out, Stream stream);
/// The backward pass of gather_rows(): dx row index[i] += dy row i for i < count; with `set`, dx
/// [rows, width] becomes dy at the indices (=) and 0 elsewhere. No index comes twice, and rows of
/// dy whose index is below 0 are left out.
Status scatter_rows(DType dtype, const void* dy, const int32_t* index, int64_t count, int64_t rows,
                    int64_t width, bool set, void* dx, Stream stream);

}  // namespace hone::kernels::cuda
