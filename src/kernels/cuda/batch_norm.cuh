#pragma once

#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/early_launch.cuh"

/// What the passes of a norm over rows share. A thread has a chunk of channels and goes down the
/// rows of its block's run; sums go in parts, one a run, which a small kernel adds up.
namespace hone::kernels::cuda {

constexpr int kNormThreads = 256;
/// Blocks of a pass at most: six for each multiprocessor of an H100. The cut follows from the sizes
/// alone, so that sums have one order.
constexpr int64_t kNormBlocks = 792;

/// How rows [rows, width] are cut into blocks.
struct NormCut {
  int lanes;         ///< threads of a block next to each other in a row; a power of 2, at most 32
  int64_t across;    ///< blocks along a row
  int64_t runs;      ///< blocks along the rows
  int64_t run_rows;  ///< rows of a block

  NormCut(int64_t rows, int64_t width) {
    const int64_t chunks = ceil_div(width, kChunk);
    lanes = 1;
    while (lanes < 32 && lanes < chunks) lanes *= 2;
    across = ceil_div(chunks, lanes);
    const int64_t at_once = kNormThreads / lanes;
    const int64_t most = kNormBlocks / across > 0 ? kNormBlocks / across : 1;
    const int64_t wanted = ceil_div(rows, 4 * at_once);
    runs = wanted < most ? wanted : most;
    run_rows = ceil_div(rows, runs);
    runs = ceil_div(rows, run_rows);
  }
  LaunchShape shape(size_t shared_bytes = 0) const {
    return {dim3(static_cast<unsigned>(across), static_cast<unsigned>(runs)), kNormThreads,
            shared_bytes};
  }
};

/// A thread's place in a pass.
struct NormPlace {
  int at;            ///< the first channel of its chunk
  int64_t row, end;  ///< its rows are row, row + step, ...
  int64_t step;

  __device__ __forceinline__ NormPlace(int lanes, int64_t rows, int64_t run_rows) {
    const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    at = (static_cast<int>(blockIdx.x) * lanes + lane) * kChunk;
    step = kNormThreads / lanes;
    row = blockIdx.y * run_rows + static_cast<int>(threadIdx.x) / lanes;
    const int64_t behind = (blockIdx.y + 1) * run_rows;
    end = behind < rows ? behind : rows;
  }
};

__device__ __forceinline__ Chunk load_parameters(const float* from, int at, int width) {
  return load_columns<false>(from, at, width);
}

/// Adds two chunks of sums up over a block's rows and writes them to partials [runs][2][width].
__device__ __forceinline__ void write_sums(const Chunk& first, const Chunk& second, int lanes,
                                           int width, float* partials) {
  __shared__ float shared[2][kNormThreads * kChunk];
  const int columns = lanes * kChunk;
  const int own = static_cast<int>(threadIdx.x) / lanes * columns +
                  (static_cast<int>(threadIdx.x) & (lanes - 1)) * kChunk;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    shared[0][own + i] = first.value[i];
    shared[1][own + i] = second.value[i];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < 2 * columns; i += kNormThreads) {
    const int which = i / columns, column = i % columns;
    const int64_t channel = int64_t{blockIdx.x} * columns + column;
    if (channel >= width) continue;
    float sum = 0.0f;
    for (int row = 0; row < kNormThreads / lanes; ++row)
      sum += shared[which][row * columns + column];
    partials[(int64_t{blockIdx.y} * 2 + which) * width + channel] = sum;
  }
}

constexpr int kTotalLanes = 16;

/// Adds up the parts of a block's 32 channels; valid in threads 0 to 31, a channel each.
__device__ __forceinline__ float2 total_sums(const float* partials, int64_t runs, int width) {
  __shared__ float2 shared[kTotalLanes][32];
  const int lane = static_cast<int>(threadIdx.x % 32), row = static_cast<int>(threadIdx.x / 32);
  const int64_t channel = int64_t{blockIdx.x} * 32 + lane;
  float2 sum = {0.0f, 0.0f};
  if (channel < width) {
#pragma unroll 8
    for (int64_t run = row; run < runs; run += kTotalLanes) {
      sum.x += partials[run * 2 * width + channel];
      sum.y += partials[(run * 2 + 1) * width + channel];
    }
  }
  shared[row][lane] = sum;
  __syncthreads();
  if (row != 0) return sum;
#pragma unroll
  for (int i = 1; i < kTotalLanes; ++i) {
    sum.x += shared[i][lane].x;
    sum.y += shared[i][lane].y;
  }
  return sum;
}
inline LaunchShape total_shape(int64_t width) {
  return {dim3(static_cast<unsigned>(ceil_div(width, 32))), 32 * kTotalLanes};
}

/// The channels' numbers that make y of x.
struct NormAffine {
  Chunk mean, factor, bias;

  __device__ __forceinline__ float operator()(float x, int i) const {
    return fmaf(x - mean.value[i], factor.value[i], bias.value[i]);
  }
};

}  // namespace hone::kernels::cuda
