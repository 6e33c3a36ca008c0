#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// Sums over rows that a kernel left in parts: outs[i] [width] += the sum over the blocks of
/// partials [blocks][sums][width], for each i < sums whose outs[i] is not null. The parameters'
/// gradients of several layers are added up in one launch, beside what follows.
struct RowSums {
  const float* partials = nullptr;  ///< null: nothing to add
  int64_t blocks = 0;
  int32_t sums = 0;
  int32_t width = 0;
  float* outs[3] = {nullptr, nullptr, nullptr};
};
/// In the order of the blocks: two runs give the same bits. No two outs overlap.
Status add_row_sums(const RowSums* list, int64_t count, Stream stream);

/// Bytes for the parts of one call's sums over [rows, width], whichever call it is; and of the
/// calls that leave one sum, which is all but a norm's.
size_t row_sums_workspace(int64_t rows, int64_t width);
size_t one_row_sum_workspace(int64_t rows, int64_t width);

/// Leaves the column sums of x [rows, width], rows `stride` apart, in parts.
Status column_sums(DType dtype, const void* x, int64_t stride, int64_t rows, int64_t width,
                   float* out, void* workspace, Stream stream, RowSums* sums);

}  // namespace hone::kernels::cuda
