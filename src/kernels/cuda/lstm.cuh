#pragma once

#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/lstm.h"

/// What the kernels of an LSTM share.
namespace hone::kernels::cuda {

__device__ __forceinline__ float fast_sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + __expf(-x));
}
/// tanh x as 2 sigmoid(2 x) - 1: within 3e-7.
__device__ __forceinline__ float fast_tanh(float x) {
  return 2.0f * __fdividef(1.0f, 1.0f + __expf(-2.0f * x)) - 1.0f;
}

/// Gives a value as T holds it.
template <typename T>
__device__ __forceinline__ float rounded_to(float value) {
  return to_float(from_float<T>(value));
}

/// Sets the rows behind the last sequence to 0, a row a block at a time.
template <typename T>
__device__ __forceinline__ void clear_rows_behind(T* rows, int64_t used, int64_t count,
                                                  int64_t width) {
  for (int64_t row = used + blockIdx.x; row < count; row += gridDim.x) {
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
      rows[row * width + i] = from_float<T>(0.0f);
    }
  }
}

}  // namespace hone::kernels::cuda
