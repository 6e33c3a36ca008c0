#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// A step draws its random numbers from this state, which lies in device memory and is written
/// before each replay.
struct RandomState {
  uint64_t seed;
  uint64_t step;
};

/// A dropout drops the elements that kernels/cpu/dropout.h drops for the same seed, step and site;
/// its key is computed on the device.
struct Dropout {
  float p = 0.0f;  ///< nothing below is read where it is 0
  uint64_t site = 0;
  const RandomState* random = nullptr;
  const int64_t* samples = nullptr;    ///< [rows], the sample of each row
  const int32_t* positions = nullptr;  ///< [rows], the position of each row in its sample
};

/// y = dropout(x) over dense [rows, width]; y may be x. The backward pass drops dy likewise.
Status apply_dropout(const Dropout& dropout, DType dtype, const void* x, int64_t rows,
                     int64_t width, void* y, Stream stream);

}  // namespace hone::kernels::cuda
