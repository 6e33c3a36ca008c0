#include "kernels/cuda/column_sums.cuh"

#include <algorithm>

#include "kernels/cuda/layer_norm.h"

namespace hone::kernels::cuda {
namespace {

constexpr int kRowLanes = 8;

__global__ void add_partial_sums_kernel(PartialSums args) {
  __shared__ float shared[kRowLanes][32];
  float* out = args.outs[blockIdx.y];
  if (!out) return;
  const int column = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  const int64_t stride = int64_t{args.sums} * args.width;
  float sum = 0.0f;
  if (column < args.width) {
    const float* from = args.partials + blockIdx.y * int64_t{args.width} + column;
#pragma unroll 4
    for (int64_t block = threadIdx.y; block < args.blocks; block += kRowLanes) {
      sum += from[block * stride];
    }
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= args.width) return;
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

Status add_partial_sums(const PartialSums& args, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.width, 32)),
                  static_cast<unsigned>(args.sums));
  add_partial_sums_kernel<<<grid, dim3(32, kRowLanes), 0, stream>>>(args);
  return launched();
}

size_t norm_backward_workspace(int64_t rows, int64_t width) {
  const int64_t norm_blocks = std::min(rows, kNormSumBlocks);
  const int64_t floats = std::max(3 * norm_blocks, column_sum_runs(rows)) * width;
  return static_cast<size_t>(floats) * sizeof(float);
}

Status add_column_sums(DType dtype, const void* x, int64_t stride, int64_t rows, int64_t width,
                       float* out, void* workspace, Stream stream) {
  if (rows == 0 || width == 0 || !out) return nullptr;
  auto* partials = static_cast<float*>(workspace);
  const int64_t runs = column_sum_runs(rows);
  const dim3 grid(static_cast<unsigned>(ceil_div(width, kColumnSumColumns)),
                  static_cast<unsigned>(runs));
  const Status status = by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = width % kChunk == 0 && stride % kChunk == 0 && aligned16(x);
    const auto kernel = aligned ? column_sums_kernel<T, true> : column_sums_kernel<T, false>;
    kernel<<<grid, dim3(32, kColumnSumWarps), 0, stream_of(stream)>>>(
        static_cast<const T*>(x), stride, rows, ceil_div(rows, runs), static_cast<int>(width),
        partials);
    return launched();
  });
  if (status) return status;
  return add_partial_sums({partials, runs, 1, static_cast<int>(width), {out}}, stream_of(stream));
}

}  // namespace hone::kernels::cuda
