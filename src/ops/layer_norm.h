#pragma once

#include <optional>

#include "autograd/tape.h"
#include "ops/dropout.h"

namespace hone::ops {

struct NormParameters {
  Weight weight;
  Weight bias;
  float eps = 1e-12f;
};

struct LayerNormOptions {
  std::optional<Value> residual = {};
  DropoutSite dropout = {};  ///< of x, before the residual is added; in training alone
  Weight bias = {};          ///< added to x first, of the product that gave it; on a GPU alone
  DType out = DType::f32;
  /// y is also written as bytes, as quantize() gives them: products with int8 weights follow. Where
  /// x is fp32, and the residual has y's dtype. On a GPU as fp8.
  bool quantized = false;
};

/// y = (s - mean) / sqrt(variance + eps) * weight + bias over each row of s = dropout(x) +
/// residual; statistics in fp32. Training keeps the normalised rows and 1/sqrt(...), and computes
/// y again where the backward pass reads it. Backward adds (+=) to the gradients of weight and
/// bias, and to or sets those of x and the residual.
Value layer_norm(Tape& tape, Value x, const NormParameters& norm,
                 const LayerNormOptions& options = {});

/// Training's other norms, too, end like this. The normalised rows of what y was made of.
struct NormalizedRows {
  Value xhat;  ///< [rows, width] in y's dtype
  Value rstd;  ///< [rows, 1]
};
/// Emits y = xhat weight + bias.
Value norm_affine(Plan& plan, Value xhat, const NormParameters& norm);
/// Emits the backward pass to s; where `dropout` is active also to x. Adds to the parameters'.
struct NormInputGradients {
  Value sum;
  Value x;
};
NormInputGradients norm_backward(Tape& tape, Value dy, const NormalizedRows& rows,
                                 const NormParameters& norm, const DropoutSite& dropout);

}  // namespace hone::ops
