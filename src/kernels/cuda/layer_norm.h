#pragma once

#include "kernels/cuda/dropout.h"
#include "kernels/cuda/row_sums.h"

namespace hone::kernels::cuda {

constexpr int64_t kMaxNormWidth = 4096;

/// The norm is that of kernels/cpu/layer_norm_train.h with a bias in front and a dropout behind:
/// s = dropout(x + bias) + residual; xhat = (s - mean) rstd; y = dropout(xhat weight +
/// affine_bias). Arrays are dense [rows, width] in `dtype`. bias, weight and affine_bias are read
/// before the kernel ahead on the stream has ended: that kernel may not write them.
struct NormForward {
  DType dtype = DType::f32;
  int64_t rows = 0, width = 0;
  const void* x = nullptr;
  const float* bias = nullptr;     ///< [width], of the product before; null: it has been added
  const void* residual = nullptr;  ///< null: none
  Dropout dropout;                 ///< applied to x + bias
  const float* weight = nullptr;   ///< [width]
  const float* affine_bias = nullptr;
  float eps = 1e-5f;
  Dropout output_dropout;   ///< applied to y
  void* xhat = nullptr;     ///< =; null: inference
  float* rstd = nullptr;    ///< = [rows]; given where xhat is
  void* y = nullptr;        ///< =; may be x or residual
  void* bytes = nullptr;    ///< = y as quantize_fp8() gives it; null: not wanted
  float* scales = nullptr;  ///< = [rows]; given where bytes are
};
Status layer_norm(const NormForward& args, Stream stream);

/// The backward pass reads what forward kept, and gives the gradients of s and of x + bias.
struct NormBackward {
  DType dtype = DType::f32;
  int64_t rows = 0, width = 0;
  const void* dy = nullptr;
  Dropout output_dropout;  ///< the one of the forward pass
  const void* xhat = nullptr;
  const float* rstd = nullptr;
  const float* weight = nullptr;
  const float* affine_bias = nullptr;  ///< read for y alone
  void* y = nullptr;     ///< = xhat weight + affine_bias; may be xhat; null: not wanted
  Dropout dropout;       ///< the one of the forward pass
  void* dsum = nullptr;  ///< = the gradient of s, and so of the residual; may be dy
  void* dx = nullptr;  ///< = the gradient of x + bias; null where forward did not drop: it is dsum
  float* dweight = nullptr;  ///< += [width], by `sums`; null: frozen
  float* daffine_bias = nullptr;
  float* dbias = nullptr;  ///< += [width], the column sums of dx, by `sums`
};
/// Leaves the sums of the parameters' gradients in parts in the workspace, row_sums_workspace(rows,
/// width) bytes; `sums` says how they are added up. Both may be null where none is wanted.
Status layer_norm_backward(const NormBackward& args, void* workspace, Stream stream, RowSums* sums);

}  // namespace hone::kernels::cuda
