#include "kernels/cuda/l2_normalize.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

/// A warp has a row.
__global__ void normalize_kernel(const float* x, int width, float* y) {
  const float* row = x + int64_t{blockIdx.x} * width;
  float sum = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += 32) sum += row[i] * row[i];
  const float scale = 1.0f / fmaxf(sqrtf(warp_sum(sum)), 1e-12f);
  for (int i = static_cast<int>(threadIdx.x); i < width; i += 32) {
    y[int64_t{blockIdx.x} * width + i] = row[i] * scale;
  }
}

}  // namespace

Status l2_normalize(const float* x, int64_t rows, int64_t width, float* y, Stream stream) {
  if (rows == 0 || width == 0) return nullptr;
  normalize_kernel<<<static_cast<unsigned>(rows), 32, 0, stream_of(stream)>>>(
      x, static_cast<int>(width), y);
  return launched();
}

}  // namespace hone::kernels::cuda
