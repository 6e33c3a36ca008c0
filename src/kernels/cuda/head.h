#pragma once

#include "kernels/cuda/dropout.h"

/// The head is the last linear layer, which has too few outputs for a library's product.
namespace hone::kernels::cuda {

constexpr int64_t kMaxHeadOutputs = 64;

/// logits fp32 [rows, outputs] = dropout(x) W^T + bias; x [rows, width] in `dtype`, W [outputs,
/// width] and bias [outputs] fp32. outputs is at most kMaxHeadOutputs.
struct HeadForward {
  DType dtype = DType::f32;
  int64_t rows = 0, width = 0, outputs = 0;
  const void* x = nullptr;
  Dropout dropout;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* logits = nullptr;
};
Status head(const HeadForward& args, Stream stream);

/// Gradients of the layer, through the dropout of x.
struct HeadBackward {
  const float* dlogits = nullptr;
  void* dx = nullptr;        ///< =; null: not wanted
  float* dweight = nullptr;  ///< +=; null: frozen
  float* dbias = nullptr;    ///< +=; null: frozen
};
Status head_backward(const HeadForward& forward, const HeadBackward& args, Stream stream);

/// y [rows, 2] = (0, x) of x [rows, 1] where `widens`; otherwise y [rows, 1] is the second column
/// of x [rows, 2].
Status binary_logits(const float* x, int64_t rows, bool widens, float* y, Stream stream);

}  // namespace hone::kernels::cuda
