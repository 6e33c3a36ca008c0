#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/quantize.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// The affine part of a LayerNorm: fp32 in every precision, [width] each; double for the gradient
/// checks of training.
template <typename Parameter>
struct NormWeightsOf {
  const Parameter* weight;
  const Parameter* bias;
  float eps;
};
using NormWeights = NormWeightsOf<float>;

/// Holds what the backward pass needs of each row, fp32 [rows]; null where it is not wanted.
struct NormStatistics {
  float* mean = nullptr;
  float* rstd = nullptr;
};

/// y = (s - mean(s)) * rstd(s) * weight + bias with s = x, or x + residual where that is given. x,
/// residual (null: none) and y are dense [rows, width]; y may be x or residual where the types
/// agree. Sums are fp32, and a row's bits depend on that row alone. Types are float and bf16, in
/// any mix.
template <typename In, typename Residual, typename Out>
void layer_norm(const In* x, const Residual* residual, const NormWeights& norm, int64_t rows,
                int64_t width, Out* y, NormStatistics statistics, ThreadPool& pool);

/// Computes layer_norm(), and y once more as bytes, quantised from its stored form. x is fp32;
/// residual and y have one type, float or bf16.
template <typename T>
void layer_norm_quantized(const float* x, const T* residual, const NormWeights& norm, int64_t rows,
                          T* y, const QuantizedRows& q, ThreadPool& pool);

}  // namespace hone::kernels
