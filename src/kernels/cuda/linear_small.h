#pragma once

#include "kernels/cuda/activation.h"

namespace hone::kernels::cuda {

/// y [m, n] = activation(x [m, k] * w [n, k]^T + bias) for few rows, where the time is that of
/// reading w, as in inference of one or a few short inputs.
struct SmallLinear {
  DType dtype = DType::bf16;  ///< bf16, f16 or f8, for x and w
  DType out = DType::bf16;    ///< y's: dtype or f32; where dtype is f8, bf16 without an activation
  Activation activation = Activation::none;
  int64_t m = 0, n = 0, k = 0;
  int64_t ldx = 0, ldw = 0, ldy = 0;  ///< elements from row to row
  const void* x = nullptr;
  const void* w = nullptr;
  const float* bias = nullptr;  ///< [n]; null: none
  void* y = nullptr;
  const float* x_scales = nullptr;  ///< [m], scales of f8
  const float* w_scales = nullptr;  ///< [n], scales of f8; read as w is
};

constexpr int64_t kSmallLinearRows = 64;

/// Says whether linear_small() takes these sizes and arrays: at most kSmallLinearRows rows, dtypes,
/// rows of x and w aligned to 16 bytes, k up to 8192, and a device of compute capability 9.0. It
/// says the same of any arrays that are aligned alike.
bool takes_linear_small(const SmallLinear& args);

/// A row's bits depend on that row alone. w and bias are read before the kernel ahead on the stream
/// has ended: that kernel may not write them.
Status linear_small(const SmallLinear& args, Stream stream);

}  // namespace hone::kernels::cuda
