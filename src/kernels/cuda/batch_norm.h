#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// Where a norm takes its statistics from.
enum class NormStatistics : uint8_t {
  running,  ///< the running ones, which stay as they are
  frozen,   ///< the running ones, which are kept in mean and rstd for the backward pass
  batch,    ///< the rows; kept in mean and rstd, and blended into the running ones
};

/// A norm over the rows of x [rows, width], by channel; arrays without a note are fp32 [width].
struct BatchNorm {
  DType dtype;
  NormStatistics statistics = NormStatistics::running;
  bool relu = false;
  int64_t rows = 0;
  int64_t width = 0;
  const void* x = nullptr;         ///< [rows, width] in dtype, as the next two
  const void* residual = nullptr;  ///< added before the ReLU, or null
  void* y = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  float eps = 1e-5f;
  float momentum = 0.1f;
  float* mean = nullptr;
  float* rstd = nullptr;
};

/// y = (x - mean) * rstd * weight + bias (+ residual, then ReLU). The workspace is
/// batch_norm_workspace() bytes, where statistics are those of the batch.
Status batch_norm(const BatchNorm& args, void* workspace, Stream stream);

struct BatchNormBackward {
  DType dtype;
  bool frozen = false;  ///< the statistics do not depend on x
  bool relu = false;
  int64_t rows = 0;
  int64_t width = 0;
  const void* dy = nullptr;  ///< [rows, width] in dtype, as the next four
  const void* x = nullptr;
  const void* y = nullptr;  ///< read where there was a residual: it says what ReLU cut
  void* dsum = nullptr;     ///< set (=): the gradient before the ReLU; null without a residual
  void* dx = nullptr;       ///< set (=)
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* dweight = nullptr;  ///< added to (+=); may be null
  float* dbias = nullptr;    ///< added to (+=); may be null
};
Status batch_norm_backward(const BatchNormBackward& args, void* workspace, Stream stream);

/// Bytes that either call wants for sums in parts, which are added up in one order.
size_t batch_norm_workspace(int64_t rows, int64_t width);

}  // namespace hone::kernels::cuda
