#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// RowSums says how sums over rows that a kernel left in parts are added up: outs[i] [width] += the
/// sum over the blocks of partials [blocks][sums][width], for each i < sums whose outs[i] is not
/// null. The parameters' gradients of several layers are added up in one launch, beside what
/// follows.
struct RowSums {
  const float* partials = nullptr;  ///< null: nothing to add
  int64_t blocks = 0;
  int32_t sums = 0;
  int32_t width = 0;
  float* outs[3] = {nullptr, nullptr, nullptr};
};
/// Adds up `count` lists, each in the order of its blocks, so that two runs give the same bits. No
/// two outs overlap.
Status add_row_sums(const RowSums* list, int64_t count, Stream stream);

/// Bytes for the parts of any one call's sums over [rows, width].
size_t row_sums_workspace(int64_t rows, int64_t width);
/// Bytes for the parts of a call that leaves one sum, which every call but a norm's does.
size_t one_row_sum_workspace(int64_t rows, int64_t width);

/// Leaves the column sums of x [rows, width], whose rows are `stride` elements apart, in parts of
/// one_row_sum_workspace(rows, width) bytes; `sums` adds them to `out`, and is empty where out is
/// null. The bias gradient of a linear layer is computed by it.
Status column_sums(DType dtype, const void* x, int64_t stride, int64_t rows, int64_t width,
                   float* out, void* workspace, Stream stream, RowSums* sums);

}  // namespace hone::kernels::cuda
