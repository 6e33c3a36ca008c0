#pragma once

#include "kernels/cuda/common.cuh"

/// Sums over rows go in two launches: blocks write partial sums to scratch, then those are added up
/// in the order of the blocks. The cut into blocks follows from the row count alone.
namespace hone::kernels::cuda {

/// Blocks of norm kernels that write partial sums: three for each multiprocessor of an H100.
constexpr int64_t kNormSumBlocks = 396;
/// Runs of rows in matrices that are cut along columns too.
constexpr int64_t kColumnSumRuns = 128;

constexpr int kColumnSumWarps = 8;
constexpr int kColumnSumColumns = 32 * kChunk;  ///< columns of a block
inline int64_t column_sum_runs(int64_t rows) {
  const int64_t runs = ceil_div(rows, 4 * kColumnSumWarps);
  return runs < kColumnSumRuns ? runs : kColumnSumRuns;
}

/// Parts of linear_gelu_backward(): warps that have rows, four a tile of 128.
inline int64_t gelu_sum_parts(int64_t rows) {
  const int64_t rest = ceil_div(rows % 128, 16);
  return rows / 128 * 4 + (rest < 4 ? rest : 4);
}

/// Adds up a block's chunks of columns over its kColumnSumWarps warps and writes them to
/// partials [runs][width]. All threads of the block call it; blockIdx.y is the run.
__device__ __forceinline__ void write_column_sums(const Chunk& sums, int at, int width,
                                                  float* partials) {
  __shared__ float shared[kColumnSumWarps][kColumnSumColumns];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
#pragma unroll
  for (int j = 0; j < kChunk; ++j) shared[warp][j * 32 + lane] = sums.value[j];
  __syncthreads();
  // Thread (lane, warp) takes element `warp` of lane's chunk.
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kColumnSumWarps; ++i) sum += shared[i][warp * 32 + lane];
  const int column = at + warp;
  if (column < width) partials[int64_t{blockIdx.y} * width + column] = sum;
}

}  // namespace hone::kernels::cuda
