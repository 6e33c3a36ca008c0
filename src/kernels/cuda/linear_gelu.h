#pragma once

#include "kernels/cuda/row_sums.h"

/// These products of a feed-forward block end in the exact (erf) GELU, for compute capability 9.0:
/// the values between product and activation stay on the chip.
namespace hone::kernels::cuda {

/// y [m, n] = gelu(z), z [m, n] = x [m, k] * weight [n, k]^T + bias in fp32, of which a rounded
/// copy may be kept. y and z are dense.
struct LinearGelu {
  DType dtype = DType::bf16;  ///< bf16 or f16, for x, weight, y and z
  int64_t m = 0, n = 0, k = 0;
  int64_t ldx = 0;  ///< elements from row to row
  const void* x = nullptr;
  const void* weight = nullptr;
  const float* bias = nullptr;  ///< [n]; null: none
  void* z = nullptr;            ///< null: not wanted
  void* y = nullptr;
};
/// linear_gelu() and linear_gelu_backward() are faster than a product and a pass over its result
/// from this number of rows on, on an H200.
constexpr int64_t kLinearGeluRows = 1536;
/// Says whether linear_gelu() takes these arguments on the current device: rows of whole 16 bytes,
/// aligned arrays.
bool linear_gelu_fits(const LinearGelu& args);
Status linear_gelu(const LinearGelu& args, Stream stream);

/// The backward pass takes the input gradient of the layer behind the GELU through the GELU: dz [m,
/// k] = dy [m, n] * weight [n, k] times gelu'(z), with it y [m, k] = gelu(z), and by `sums` dbias
/// += the column sums of dz. dz or y may be z.
struct LinearGeluBackward {
  DType dtype = DType::bf16;  ///< bf16 or f16, for all but dbias
  int64_t m = 0, n = 0, k = 0;
  int64_t lddy = 0;
  const void* dy = nullptr;
  const void* weight = nullptr;
  const void* z = nullptr;
  void* dz = nullptr;
  float* dbias = nullptr;  ///< [k]; null: not wanted
  void* y = nullptr;       ///< null: not wanted
};
/// Says whether linear_gelu_backward() takes these arguments on the current device.
bool linear_gelu_backward_fits(const LinearGeluBackward& args);
/// Leaves the sums of dbias in parts in the workspace, one_row_sum_workspace(m, k) bytes; `sums`
/// says how they are added up.
Status linear_gelu_backward(const LinearGeluBackward& args, void* workspace, Stream stream,
                            RowSums* sums);

}  // namespace hone::kernels::cuda
