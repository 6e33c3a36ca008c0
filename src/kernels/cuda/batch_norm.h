#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// A norm over the rows of x [rows, width], by channel; arrays without a note are fp32 [width].
struct BatchNorm {
  DType dtype;
  int64_t rows = 0;
  int64_t width = 0;
  const void* x = nullptr;  ///< [rows, width] in dtype
  void* y = nullptr;        ///< [rows, width] in dtype
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* running_mean = nullptr;  ///< training blends the batch's statistics into both
  float* running_variance = nullptr;
  float eps = 1e-5f;
  float momentum = 0.1f;
  float* mean = nullptr;  ///< kept by training for the backward pass; null: the running ones serve
  float* rstd = nullptr;
};

/// y = (x - mean) * rstd * weight + bias. Where `mean` is given, the statistics are those of the
/// rows, written to mean and rstd and blended into the running ones; else the running ones.
Status batch_norm(const BatchNorm& args, Stream stream);

struct BatchNormBackward {
  DType dtype;
  int64_t rows = 0;
  int64_t width = 0;
  const void* dy = nullptr;  ///< [rows, width] in dtype, as x and dx
  const void* x = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* weight = nullptr;
  void* dx = nullptr;        ///< set (=)
  float* dweight = nullptr;  ///< added to (+=); may be null
  float* dbias = nullptr;    ///< added to (+=); may be null
  float* sums = nullptr;     ///< scratch, [2, width]
};
Status batch_norm_backward(const BatchNormBackward& args, Stream stream);

}  // namespace hone::kernels::cuda
