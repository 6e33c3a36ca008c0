#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/batch.h"
#include "models/encoder.h"
#include "optim/optimizer.h"
#include "plan/execution.h"

namespace hone::train {

/// The labels of a batch, in the order of its sequences: classes for cross-entropy, else one fp32
/// target for each logit.
struct Labels {
  std::vector<int32_t> classes;
  std::vector<float> targets;
};

/// What a step's random choices and its normalisation depend on.
struct StepState {
  uint64_t seed = 0;
  int64_t step = 0;
  double count = 1;       ///< what the sum of losses is divided by: samples of the global batch
  double loss_scale = 1;  ///< of the gradients alone
};

/// Runs forward and backward passes of one model over batches of any shape.
class Stepper {
 public:
  /// All must outlive this. Gradients are added up in the optimiser's arrays.
  Stepper(models::Encoder& encoder, const ops::LossOptions& loss, optim::Optimizer& optimizer,
          ThreadPool& pool, const models::TrainingOptions& options = {});

  /// Adds the batch's gradients; gives its share of the mean loss.
  double accumulate(const models::Batch& batch, const Labels& labels, const StepState& state);
  /// Of the last batch: fp32 [sequences, labels].
  const float* logits() const { return execution_.output<float>(step_.logits); }
  /// After a loss or gradient norm that was not finite: runs the last batch once more, which must
  /// still be there, and names the first place that is not finite ("layer 3: linear of
  /// encoder.layer.3.output.dense.weight"); empty where all are. The gradients are 0 afterwards.
  std::string first_non_finite();
  Execution& execution() { return execution_; }
  /// Spent in all, on the forward passes with the loss and on the backward passes.
  double forward_seconds() const { return forward_seconds_; }
  double backward_seconds() const { return backward_seconds_; }
  double flops(const Extents& extents) const { return step_.plan.flops(extents); }

 private:
  std::span<const void* const> weights(DType dtype);

  const std::string& name_of(const Weight& weight) const;

  nn::Parameters& parameters_;
  optim::Optimizer& optimizer_;
  ThreadPool& pool_;
  models::TrainingStep step_;
  Execution execution_;
  int64_t random_[2] = {};
  double scale_[2] = {};
  double forward_seconds_ = 0;
  double backward_seconds_ = 0;
};

}  // namespace hone::train
