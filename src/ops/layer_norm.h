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
  DropoutSite dropout = {};  ///< drops x before the residual is added; in training alone
  Weight bias = {};          ///< bias of the product that gave x, added to x first; on a GPU alone
  DType out = DType::f32;
  /// Where true, y is also written as bytes, as quantize() gives them (on a GPU as fp8), because
  /// products with int8 weights follow. x is fp32 then, and the residual has y's dtype.
  bool quantized = false;
};

/// y = (s - mean) / sqrt(variance + eps) * weight + bias over each row of s = dropout(x) +
/// residual; statistics in fp32. Training keeps the normalised rows and 1/sqrt(...), and computes
/// y again where the backward pass reads it. Backward adds (+=) to the gradients of weight and
/// bias, and to or sets those of x and the residual.
Value layer_norm(Tape& tape, Value x, const NormParameters& norm,
                 const LayerNormOptions& options = {});

/// The normalised rows of what y was made of; training's other norms end like this, too.
struct NormalizedRows {
  Value xhat;  ///< [rows, width] in y's dtype
  Value rstd;  ///< [rows, 1]
};
/// Emits y = xhat weight + bias.
Value norm_affine(Plan& plan, Value xhat, const NormParameters& norm);
/// Emits the backward pass to s, and to x where `dropout` is active. Adds (+=) to the parameters'
/// gradients.
struct NormInputGradients {
  Value sum;
  Value x;
};
NormInputGradients norm_backward(Tape& tape, Value dy, const NormalizedRows& rows,
                                 const NormParameters& norm, const DropoutSite& dropout);

}  // namespace hone::ops
