#include "kernels/cuda/row_sums.cuh"

#include <algorithm>

#include "kernels/cuda/row_sums.h"

namespace hone::kernels::cuda {
namespace {

constexpr int kRowLanes = 16;
/// Lists that one launch takes: what fits into a kernel's arguments with ease.
constexpr int kLists = 32;

struct SumsList {
  RowSums list[kLists];
  int first[kLists + 1];  ///< block of each list's first 32 columns
};

__global__ void __launch_bounds__(32 * kRowLanes)
    add_row_sums_kernel(const __grid_constant__ SumsList all) {
  __shared__ float shared[kRowLanes][33];
  int which = 0;
  while (static_cast<int>(blockIdx.x) >= all.first[which + 1]) ++which;
  const RowSums& sums = all.list[which];
  const int blocks = (sums.width + 31) / 32;
  const int block = static_cast<int>(blockIdx.x) - all.first[which];
  float* out = sums.outs[block / blocks];
  if (!out) return;
  const int column = block % blocks * 32 + static_cast<int>(threadIdx.x);
  const int64_t stride = int64_t{sums.sums} * sums.width;
  float sum = 0.0f;
  if (column < sums.width) {
    const float* from = sums.partials + int64_t{block / blocks} * sums.width + column;
#pragma unroll 8
    for (int64_t i = threadIdx.y; i < sums.blocks; i += kRowLanes) sum += from[i * stride];
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= sums.width) return;
#pragma unroll
  for (int i = 1; i < kRowLanes; ++i) sum += shared[i][threadIdx.x];
  out[column] += sum;
}

template <typename T, bool kAligned>
__global__ void column_sums_kernel(const T* x, int64_t stride, int64_t rows, int64_t run_rows,
                                   int width, float* partials) {
  const int at = static_cast<int>((blockIdx.x * 32 + threadIdx.x) * kChunk);
  const int64_t first = blockIdx.y * run_rows;
  const int64_t end = first + run_rows < rows ? first + run_rows : rows;
  Chunk sums = {};
  if (at < width) {
#pragma unroll 4
    for (int64_t row = first + threadIdx.y; row < end; row += kColumnSumWarps) {
      const Chunk c = load_columns<kAligned>(x + row * stride, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sums.value[j] += c.value[j];
    }
  }
  write_column_sums(sums, at, width, partials);
}

}  // namespace

Status add_row_sums(const RowSums* list, int64_t count, Stream stream) {
  while (count > 0) {
    SumsList all = {};
    int lists = 0;
    for (; count > 0 && lists < kLists; ++list, --count) {
      if (!list->partials) continue;
      all.list[lists] = *list;
      const int64_t blocks = list->sums * ceil_div(list->width, 32);
      all.first[lists + 1] = all.first[lists] + static_cast<int>(blocks);
      ++lists;
    }
    if (lists == 0) continue;
    add_row_sums_kernel<<<static_cast<unsigned>(all.first[lists]), dim3(32, kRowLanes), 0,
                          stream_of(stream)>>>(all);
    if (const Status status = launched()) return status;
  }
  return nullptr;
}

size_t row_sums_workspace(int64_t rows, int64_t width) {
  const size_t norm = static_cast<size_t>(3 * std::min(rows, kNormSumBlocks) * width);
  return std::max(norm * sizeof(float), one_row_sum_workspace(rows, width));
}

size_t one_row_sum_workspace(int64_t rows, int64_t width) {
  const int64_t parts = std::max(column_sum_runs(rows), gelu_sum_parts(rows));
  return static_cast<size_t>(parts * width) * sizeof(float);
}

Status column_sums(DType dtype, const void* x, int64_t stride, int64_t rows, int64_t width,
                   float* out, void* workspace, Stream stream, RowSums* sums) {
  *sums = {};
  if (rows == 0 || width == 0 || !out) return nullptr;
  auto* partials = static_cast<float*>(workspace);
  const int64_t runs = column_sum_runs(rows);
  *sums = {partials, runs, 1, static_cast<int32_t>(width), {out, nullptr, nullptr}};
  const dim3 grid(static_cast<unsigned>(ceil_div(width, kColumnSumColumns)),
                  static_cast<unsigned>(runs));
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = width % kChunk == 0 && stride % kChunk == 0 && aligned16(x);
    const auto kernel = aligned ? column_sums_kernel<T, true> : column_sums_kernel<T, false>;
    kernel<<<grid, dim3(32, kColumnSumWarps), 0, stream_of(stream)>>>(
        static_cast<const T*>(x), stride, rows, ceil_div(rows, runs), static_cast<int>(width),
        partials);
    return launched();
  });
}

}  // namespace hone::kernels::cuda
