#pragma once

#include "kernels/cuda/row_sums.h"

namespace hone::kernels::cuda {

/// The values are those of kernels::Activation (kernels/cpu/activation.h), which is not included
/// here.
enum class Activation : uint8_t { none, gelu, gelu_tanh, relu, silu, tanh };

/// y = activation(x) over `count` elements; y may be x.
Status activate(Activation activation, DType dtype, const void* x, int64_t count, void* y,
                Stream stream);

/// dz = dy * activation'(z) over dense [rows, width]. The kernel can also give y = activation(z)
/// again, and the bias gradient of the product before.
struct ActivationBackward {
  Activation activation = Activation::gelu;
  DType dtype = DType::f32;
  int64_t rows = 0, width = 0;
  const void* dy = nullptr;
  const void* z = nullptr;
  void* dz = nullptr;      ///< =; may be dy
  void* y = nullptr;       ///< =; may be z; null: not wanted
  float* dbias = nullptr;  ///< += the column sums of dz, by `sums`; null: not wanted
};
/// Leaves the sums of dbias in parts in the workspace, one_row_sum_workspace(rows, width) bytes;
/// `sums` says how they are added up. Both may be null without a dbias.
Status activation_backward(const ActivationBackward& args, void* workspace, Stream stream,
                           RowSums* sums);

}  // namespace hone::kernels::cuda
