#pragma once

#include "kernels/cpu/gemm.h"

/// Backward of gemm(): y = x W^T + bias, with x [m, k], W [n, k] and y [m, n].
/// Weights and their gradients have one layout, the packed one, and padding that stays zero.
namespace hone::kernels {

/// dx[m, k] = dy[m, n] * W[n, k] + add.
/// Rows are `lddy`, `ldadd`, `lddx` elements apart and need no alignment. dx may be `add` itself
/// (where their dtypes agree), but must overlap nothing else.
struct InputGradientArgs {
  int64_t m = 0;
  const void* dy = nullptr;  ///< lies in the dtype of the weight
  int64_t lddy = 0;
  const PackedMatrix* w = nullptr;  ///< the weight that the forward pass reads: f32, bf16 or f64
  const void* add = nullptr;        ///< [m, k], or null: the gradient so far
  DType add_dtype = DType::f32;
  int64_t ldadd = 0;
  void* dx = nullptr;
  DType dx_dtype = DType::f32;  ///< f32 or bf16; with a weight in f64, add and dx are f64
  int64_t lddx = 0;
};

/// Bytes of scratch (aligned to 64) on a pool of `threads`; a larger m of the same matrix and lddy
/// never needs less. Pointers other than w may be null here. The scratch holds W transposed, which
/// takes as many bytes as W, and 1 to 3% of the time at 1,000 rows.
size_t gemm_input_gradient_workspace(const InputGradientArgs& args, int threads);

/// Computes dx (=): the bits of a row of dx depend on that row of dy (and add) and on the matrix
/// alone, not on m, the row's place or the number of threads. Allocates nothing.
void gemm_input_gradient(const InputGradientArgs& args, void* workspace, ThreadPool& pool);

/// dw[n, k] += dy[m, n]^T * x[m, k], and dbias[n] += the column sums of dy.
/// Rows are `lddy` and `ldx` elements apart and need no alignment. Nothing overlaps.
struct WeightGradientArgs {
  Isa isa = Isa::avx2;       ///< instruction set of dw's layout
  DType dtype = DType::f32;  ///< dtype of dy and x: f32, bf16 or f64
  int64_t m = 0, n = 0, k = 0;
  const void* dy = nullptr;
  int64_t lddy = 0;
  const void* x = nullptr;
  int64_t ldx = 0;
  /// Where set, x is images, of which each row is a patch k wide; ldx is not read.
  const Patches* patches = nullptr;
  void* dw = nullptr;     ///< packed fp32 (with f64: packed f64), aligned to 64 bytes
  void* dbias = nullptr;  ///< [n] in the dtype of dw, or null
};

/// Bytes of scratch (aligned to 64) on a pool of `threads`; a larger m never needs less.
size_t gemm_weight_gradient_workspace(const WeightGradientArgs& args, int threads);

/// Adds to dw and dbias (+=). Sums are fp32, over the rows in one order: no bit depends on the
/// number of threads. Allocates nothing.
void gemm_weight_gradient(const WeightGradientArgs& args, void* workspace, ThreadPool& pool);

/// Makes the bf16 form of a packed fp32 matrix, rounded to nearest even: the same isa, n and k,
/// `shadow` packed_bytes() long. Goes past the caches, for shadows that are larger than they are.
void repack_bf16(const PackedMatrix& master, void* shadow, ThreadPool& pool);

}  // namespace hone::kernels
