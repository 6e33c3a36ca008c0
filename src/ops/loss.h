#pragma once

#include "autograd/tape.h"
#include "base/loss_kind.h"

namespace hone::ops {

/// What a teacher's logits add to a loss: the labels' part is weighed with 1 - weight.
struct DistillOptions {
  double weight = 0;  ///< weighs the teacher's part; 0: there is no teacher
  double temperature = 2;
  bool self = false;  ///< a model's last layer teaches its exits
};

struct LossOptions {
  LossKind kind = LossKind::cross_entropy;
  double weight = 1;  ///< weight of this loss among several
  float label_smoothing = 0;
  std::vector<float> class_weights = {};  ///< cross-entropy; empty: all 1
  /// Where true, the sum of cross-entropies is divided by the samples' class weights, as torch's
  /// cross_entropy does it; otherwise by the samples, as binary_cross_entropy_with_logits does.
  bool weights_divide = true;
  std::vector<float> positive_weights = {};  ///< binary cross-entropy; empty: all 1
  DistillOptions distill = {};
  double cost_weight = 0;  ///< lambda of adaptive exits; see ops/adaptive_loss.h
  /// What running up to each layer costs, the last of all 1; empty: the share of the layers.
  std::vector<double> costs = {};
};

struct LossInputs {
  Value logits;  ///< fp32 [sequences, classes]
  /// int32 [sequences, 1] classes for cross-entropy; else fp32 [sequences, classes] targets, of
  /// soft cross-entropy the classes' shares.
  Value labels;
  /// fp64 [1, 2]: what the sum of losses is divided by (the samples of the global batch, or the sum
  /// of their class weights), and by what the gradient is multiplied (loss scaling).
  Value scale;
  /// A teacher's logits, like the student's; read where options.distill has a weight.
  std::optional<Value> teacher = {};
};

/// Gives the batch's share of the mean loss, fp64 [1, 1]; sets (=) the gradient of the logits.
Value loss(Tape& tape, const LossInputs& inputs, const LossOptions& options);

}  // namespace hone::ops
