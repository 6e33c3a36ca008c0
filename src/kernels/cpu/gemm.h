#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "device/cpu_info.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/patches.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// A weight [n, k] (row-major, as PyTorch's Linear.weight) packed for x * W^T. It borrows its
/// memory, which is aligned to 64 bytes and packed_bytes() long.
///
/// Rows are grouped in panels of panel_rows(isa); a panel is one contiguous block, so that a
/// matrix can be packed, stored, streamed and cut along n panel by panel. Inside a panel:
///   fp32  [k][panel_rows], and f64 likewise
///   bf16  [k / 2][panel_rows][2], k rounded up to 32 with zeros
///   i8    [k / 4][panel_rows][4], k rounded up to 64 with zeros; behind them lie
///         the rows' scales, fp32 [panel_rows],
///         and the sums of their bytes, int32 [panel_rows]
/// The last panel is filled up with zero rows. The layout depends on dtype and panel_rows alone:
/// all from avx512 on share it.
struct PackedMatrix {
  DType dtype;  ///< f32, bf16, i8, or f64: for gradient checks, plain code
  Isa isa;
  int64_t n;
  int64_t k;
  const void* data;
};

int64_t panel_rows(Isa isa);
size_t packed_bytes(Isa isa, DType dtype, int64_t n, int64_t k);

/// Packs rows [first, first + count) of a weight [n, k] into `packed`, the whole matrix' memory;
/// `rows` points at row `first`. `first` is a multiple of panel_rows(isa), and so is `count` unless
/// it ends the matrix. bf16 rounds to nearest even. Calls for disjoint rows may run in parallel.
/// i8 has a call of its own, below.
void pack_rows(Isa isa, DType dtype, const float* rows, int64_t first, int64_t count, int64_t n,
               int64_t k, void* packed);
/// Packs rows in i8, as quantize_symmetric() gives them: row j is scales[j] * rows[j]. Otherwise it
/// takes what pack_rows() takes.
void pack_quantized_rows(Isa isa, const int8_t* rows, const float* scales, int64_t first,
                         int64_t count, int64_t k, void* packed);
/// Unpacks row `row` as fp32 [k]: the packed value, exact (f64: rounded; gemm_f64.h has both in
/// double).
void unpack_row(const PackedMatrix& matrix, int64_t row, float* out);

/// Says how a row of A is quantised: x is nearly scale * (q - zero), q from 0 to 255.
struct RowScale {
  float scale;
  int32_t zero;
};

/// C[m, n] = activation(A[m, k] * W[n, k]^T + bias) + residual.
/// Rows are `lda`, `ldr`, `ldc` elements apart and need no alignment. C may be the residual itself,
/// but must overlap nothing else.
struct GemmArgs {
  int64_t m = 0;
  const void* a = nullptr;
  DType a_dtype = DType::f32;  ///< the weight's dtype; u8 where the weight is i8
  int64_t lda = 0;
  /// Where set, A is images, of which each row is a patch as wide as the weight; lda is not read.
  const Patches* patches = nullptr;
  const RowScale* a_scales = nullptr;  ///< [m], `lds` apart; read where the weight is i8
  int64_t lds = 1;
  const PackedMatrix* b = nullptr;
  const void* bias = nullptr;  ///< [n], fp32 (f64 with a weight in f64), or null
  Activation activation = Activation::none;
  const void* residual = nullptr;  ///< [m, n], or null; added after the activation
  DType residual_dtype = DType::f32;
  int64_t ldr = 0;
  bool cuts_sum = false;  ///< whether ReLU follows the residual; the activation is none then
  void* c = nullptr;
  DType c_dtype = DType::f32;
  int64_t ldc = 0;
};

/// Gives the bytes of scratch (aligned to 64) that gemm() needs on a pool of `threads`; a larger m
/// of the same matrix and lda never needs less. Pointers other than b may be null here.
size_t gemm_workspace(const GemmArgs& args, int threads);

/// Sums are fp32, in one order along k, or exact integers for i8: the bits of a row of C depend on
/// that row of A and on the matrix alone, not on m, the row's place or the number of threads.
/// Allocates nothing.
void gemm(const GemmArgs& args, void* workspace, ThreadPool& pool);

}  // namespace hone::kernels
