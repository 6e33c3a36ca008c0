#pragma once

#include "kernels/cuda/row_sums.h"

namespace hone::kernels::cuda {

/// The numbers of kernels::Activation (kernels/cpu/activation.h), which is not included here.
enum class Activation : uint8_t { none, gelu, gelu_tanh, relu, silu, tanh };

/// y = activation(x); y may be x.
Status activate(Activation activation, DType dtype, const void* x, int64_t count, void* y,
                Stream stream);

/// dz = dy activation'(z) over dense [rows, width], and with it y = activation(z) (null: not
/// wanted) and by `sums` dbias += the column sums of dz (null: not wanted). dz may be dy, y may be
/// z.
struct ActivationBackward {
  Activation activation = Activation::gelu;
  DType dtype = DType::f32;
  int64_t rows = 0, width = 0;
  const void* dy = nullptr;
  const void* z = nullptr;
  void* dz = nullptr;
  void* y = nullptr;
  float* dbias = nullptr;
};
/// Leaves the sums of dbias in parts in the workspace, one_row_sum_workspace(rows, width) bytes;
/// `sums` says how they are added up. Both may be null without a dbias.
Status activation_backward(const ActivationBackward& args, void* workspace, Stream stream,
                           RowSums* sums);

/// y = x among f32, bf16 and f16. No overlap.
Status convert(DType from, const void* x, DType to, void* y, int64_t count, Stream stream);
/// y = dropout(x) over dense [rows, width]; y may be x.
Status apply_dropout(const Dropout& dropout, DType dtype, const void* x, int64_t rows,
                     int64_t width, void* y, Stream stream);

/// out row i = x row index[i] for i < count; x rows are `stride` elements apart, out is dense. An
/// index below 0 gives zeros.
Status gather_rows(DType dtype, const void* x, int64_t stride, const int32_t* index, int64_t count,
                   int64_t width, void* out, Stream stream);
/// dx row index[i] += dy row i, or with `set` dx [rows, width] becomes 0 elsewhere. No index comes
/// twice; those below 0 are left out.
Status scatter_rows(DType dtype, const void* dy, const int32_t* index, int64_t count, int64_t rows,
                    int64_t width, bool set, void* dx, Stream stream);

}  // namespace hone::kernels::cuda
