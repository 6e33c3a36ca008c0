#pragma once

#include "kernels/cuda/launch.h"

/// What stands behind the encoder: the last linear layer, with too few outputs for a library's
/// product, and the losses.
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

struct HeadBackward {
  const float* dlogits = nullptr;
  void* dx = nullptr;        ///< = ; null: not wanted
  float* dweight = nullptr;  ///< +=; null: frozen
  float* dbias = nullptr;    ///< +=; null: frozen
};
Status head_backward(const HeadForward& forward, const HeadBackward& args, Stream stream);

/// kernels/cpu/loss.h, in device memory: what the sum is divided by, and the gradient's factor.
struct LossScale {
  double count;
  double scale;
};
enum class LossKind : uint8_t { cross_entropy, squared_error, binary_cross_entropy };
struct Loss {
  LossKind kind = LossKind::cross_entropy;
  int64_t rows = 0, classes = 0;
  const float* logits = nullptr;    ///< [rows, classes]
  const int32_t* labels = nullptr;  ///< [rows] for cross-entropy; below 0: the row does not count
  const float* targets = nullptr;   ///< [rows, classes] for the others
  const float* weights = nullptr;   ///< [classes] of classes or positives; null: all 1
  float label_smoothing = 0.0f;
  const LossScale* scale = nullptr;  ///< in device memory
  double weight = 1;                 ///< of this loss among several
  float* losses = nullptr;           ///< = [rows]; null: not wanted
  double* loss = nullptr;            ///< = their sum / count; null: not wanted
  float* dlogits = nullptr;          ///< =; null: not wanted
};
Status loss(const Loss& args, Stream stream);

}  // namespace hone::kernels::cuda
