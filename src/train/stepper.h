#pragma once

#include <cstdint>
#include <memory>
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
  bool first = true;      ///< of the batches whose gradients are added up
};

/// The options of a step's first batch: on a GPU it sets gradients, whose memory is lent to its
/// values until then.
models::TrainingOptions first_pass(models::TrainingOptions options, bool gpu);

/// Runs forward and backward passes of one model over batches of any shape.
class Stepper {
 public:
  /// A batch that was started: on a GPU its loss is known when the device gets there.
  struct Ticket {
    double loss = 0;   ///< on a processor
    size_t first = 0;  ///< on a GPU: of the losses that come back
    size_t count = 0;
  };

  /// All must outlive this. Gradients are added up in the optimiser's arrays.
  Stepper(models::Encoder& encoder, const ops::LossOptions& loss, optim::Optimizer& optimizer,
          ThreadPool& pool, const models::TrainingOptions& options = {});
  ~Stepper();

  /// On a GPU: takes the memory for batches up to these extents now; `more`: also for the batches
  /// of a step behind its first.
  void reserve(const Extents& extents, bool more);
  /// Adds the batch's gradients; gives its share of the mean loss.
  double accumulate(const models::Batch& batch, const Labels& labels, const StepState& state);
  /// The same without the wait for the loss.
  Ticket start(const models::Batch& batch, const Labels& labels, const StepState& state);
  /// Of a batch that the device is done with, at most kInFlight batches ago.
  double loss(const Ticket& ticket) const;
  static constexpr size_t kInFlight = 8192;

  /// Of the last batch: fp32 [sequences, labels].
  const float* logits() const { return last_->execution.output<float>(last_->step.logits); }
  /// After a loss or gradient norm that was not finite: runs the last batch once more, which must
  /// still be there, and names the first place that is not finite ("layer 3: linear of
  /// encoder.layer.3.output.dense.weight"); empty where all are. The gradients are 0 afterwards.
  std::string first_non_finite();
  Execution& execution() { return last_->execution; }
  /// For others that run between batches; what logits() gives is gone then.
  std::shared_ptr<Arena> arena() const { return arena_; }
  /// Spent in all, on the forward passes with the loss and on the backward passes. On a GPU by its
  /// own clock, of the batches that are done.
  double forward_seconds();
  double backward_seconds();
  double flops(const Extents& extents) const { return pass_.step.plan.flops(extents); }

 private:
  /// A plan and what runs it.
  struct Pass {
    models::TrainingStep step;
    Execution execution;
    Pass(Stepper& stepper, const models::TrainingOptions& options);
  };
  struct Gpu;

  const std::string& name_of(const Weight& weight) const;
  void bind(Pass& pass, const models::Batch& batch, const Labels& labels, const StepState& state);
  Ticket start_on_gpu(Pass& pass);

  models::Encoder& encoder_;
  ops::LossOptions loss_;
  models::TrainingOptions options_;
  nn::Parameters& parameters_;
  optim::Optimizer& optimizer_;
  ThreadPool& pool_;
  std::unique_ptr<Gpu> gpu_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();  ///< of both passes
  Pass pass_;                   ///< on a GPU of the first batch of a step, which sets gradients
  std::unique_ptr<Pass> more_;  ///< on a GPU of the batches that follow, which add to them
  Pass* last_ = &pass_;
  int64_t random_[2] = {};
  double scale_[2] = {};
  double forward_seconds_ = 0;
  double backward_seconds_ = 0;
};

}  // namespace hone::train
