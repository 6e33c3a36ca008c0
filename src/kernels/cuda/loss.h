#pragma once

#include "base/loss_kind.h"
#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// kernels::LossScale (kernels/cpu/loss.h) in device memory: the sum of losses is divided by
/// `count`, and `scale` multiplies the gradient.
struct LossScale {
  double count;
  double scale;
};

/// The loss of each row, their sum divided by the count, and the gradient of the logits.
struct Loss {
  LossKind kind = LossKind::cross_entropy;
  int64_t rows = 0, classes = 0;
  const float* logits = nullptr;    ///< [rows, classes]
  const int32_t* labels = nullptr;  ///< [rows] for cross-entropy; below 0: the row does not count
  const float* targets =
      nullptr;  ///< [rows, classes] for the others; soft: a row of zeros does not count
  const float* weights = nullptr;  ///< [classes], of classes or of positives; null: all 1
  float label_smoothing = 0.0f;
  const LossScale* scale = nullptr;  ///< lies in device memory
  double weight = 1;                 ///< the weight of this loss among several
  const float* teacher = nullptr;    ///< [rows, classes]; null: there is none
  double teacher_weight = 0;         ///< weighs kernels/cpu/distill.h; the labels have the rest
  double temperature = 1;
  float* losses = nullptr;   ///< = [rows]; null: not wanted
  double* loss = nullptr;    ///< = their sum / count; null: not wanted
  float* dlogits = nullptr;  ///< =; null: not wanted
};
Status loss(const Loss& args, Stream stream);

}  // namespace hone::kernels::cuda
