#include "kernels/cuda/pooling.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

/// A block has a sequence, a thread a column at a time, rows in their order.
__global__ void pool_kernel(Pooling pooling, const float* x, const int32_t* offsets, int width,
                            float* y) {
  const int64_t begin = offsets[blockIdx.x], end = offsets[blockIdx.x + 1];
  const auto count = static_cast<float>(end - begin);
  for (int column = static_cast<int>(threadIdx.x); column < width;
       column += static_cast<int>(blockDim.x)) {
    float value = begin < end ? x[begin * width + column] : 0.0f;
    if (pooling != Pooling::first) {
      for (int64_t row = begin + 1; row < end; ++row) {
        const float next = x[row * width + column];
        value = pooling == Pooling::mean ? value + next : fmaxf(value, next);
      }
      if (pooling == Pooling::mean && begin < end) value /= count;
    }
    y[int64_t{blockIdx.x} * width + column] = value;
  }
}

}  // namespace

Status pool_sequences(Pooling pooling, const float* x, const int32_t* offsets, int64_t sequences,
                      int64_t width, float* y, Stream stream) {
  if (sequences == 0 || width == 0) return nullptr;
  pool_kernel<<<static_cast<unsigned>(sequences), 256, 0, stream_of(stream)>>>(
      pooling, x, offsets, static_cast<int>(width), y);
  return launched();
}

}  // namespace hone::kernels::cuda
