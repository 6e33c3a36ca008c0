#pragma once

#include "kernels/cpu/gemm_backward.h"
#include "kernels/cpu/gemm_kernel.h"

/// The functions here bring the operands of the backward products into the forms of gemm_kernel.h.
/// They are internal, and each runs in one thread.
namespace hone::kernels {

/// Gives the elements between rows of transpose_tokens() of this depth: each row starts on its own
/// cache sets, as Blocking::copy_stride() has it.
int64_t transposed_stride(int64_t depth, size_t size);

/// out[i * stride + t] = x[t * ldx + i] for t < tokens and i < columns; 0 up to t < depth.
/// (from, to): (f32, f32), (bf16, f32), (bf16, bf16).
struct TokensToTranspose {
  const void* x;
  int64_t ldx;
  int64_t tokens, columns;
  void* out;
  int64_t stride;
  int64_t depth;
};
void transpose_tokens(DType from, DType to, const TokensToTranspose& args);

/// Packs dy[tokens, columns] as panels of `width` columns, as if its transpose were a weight: f32
/// [tokens][width], bf16 [depth / 2][width][2], filled up with zeros. Panels are depth * width
/// elements apart. Columns are at most kPackColumns. bias[columns] += the column sums; may be null.
struct TokensToPack {
  const void* dy;
  int64_t lddy;
  int64_t tokens, columns;
  int64_t width;
  int64_t depth;
  void* out;
  float* bias;
};
constexpr int64_t kPackColumns = 128;
void pack_tokens(DType dtype, const TokensToPack& args);

/// Writes panel `panel` of W[n, k]^T, packed as a weight [k, n], to `out`.
void transpose_panel(const PackedMatrix& w, int64_t panel, void* out);

/// The functions that end in _with take a kernel of the caller's choice, for tests.
size_t gemm_input_gradient_workspace_with(const GemmKernel& kernel, const InputGradientArgs& args,
                                          int threads);
void gemm_input_gradient_with(const GemmKernel& kernel, const InputGradientArgs& args,
                              void* workspace, ThreadPool& pool);
size_t gemm_weight_gradient_workspace_with(const GemmKernel& kernel,
                                           const WeightGradientArgs& args);
void gemm_weight_gradient_with(const GemmKernel& kernel, const WeightGradientArgs& args,
                               void* workspace, ThreadPool& pool);

}  // namespace hone::kernels
