#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/batch.h"
#include "models/model.h"
#include "optim/optimizer.h"
#include "plan/backend.h"
#include "plan/runner.h"

namespace hone::train {

/// The inputs of a step's random choices and of its normalisation.
struct StepState {
  uint64_t seed = 0;
  int64_t step = 0;
  double count = 1;       ///< what the sum of losses is divided by: samples of the global batch
  double loss_scale = 1;  ///< factor of the gradients alone
  bool first = true;      ///< whether it is the first batch whose gradients are added up
  double waited = 0;      ///< seconds that the host has waited for the batch
};

/// Says where the device's time went.
struct StepTimes {
  double forward = 0;
  double backward = 0;  ///< backward passes and losses
  double starved = 0;   ///< time without work, while the host waited for a batch
};

/// Gives the options of a step's first batch: on a device that sets gradients, their memory is lent
/// to its values until then.
models::TrainingOptions first_pass(models::TrainingOptions options, const Target& target);

/// Runs forward and backward passes of one model over batches of any shape.
class Stepper {
 public:
  /// A batch that was started, whose loss is known when the device gets there.
  using Ticket = std::shared_ptr<Fetched>;
  /// Hears that so many steps of the plan have run.
  using Passed = std::function<void(size_t steps)>;

  /// All arguments must outlive this. Gradients are added up in the optimiser's arrays. Without
  /// `planned`, steps run one by one and values share no memory. Where the loss asks for a teacher,
  /// `teacher` has its logits: as many for each sample of the data as the model gives.
  Stepper(models::Model& model, const ops::LossOptions& loss, optim::Optimizer& optimizer,
          ThreadPool& pool, const models::TrainingOptions& options = {}, bool planned = true,
          const std::vector<float>* teacher = nullptr);
  ~Stepper();

  /// Has start() tell when it comes to these numbers of steps, in rising order; called before the
  /// first batch.
  void set_cuts(std::vector<size_t> steps);
  /// Takes the memory for batches up to these extents now, on a device that has its own; where
  /// `more`, also for the batches of a step behind its first.
  void reserve(const Extents& extents, bool more);
  /// Adds the batch's gradients (+=); gives its share of the mean loss.
  double accumulate(const data::Batch& batch, const StepState& state);
  /// Adds the batch's gradients without waiting for the loss. `passed` is called at the cuts.
  Ticket start(const data::Batch& batch, const StepState& state, const Passed& passed = {});
  /// Gives the loss of a batch that was started; waits for it.
  double loss(const Ticket& ticket) const;
  /// Says that the optimiser's step was started: from its end on the device may be without work.
  void end_step();

  /// Gives the answers to the last batch: fp32 [samples, labels].
  const float* logits() const { return last_->runner.output<float>(last_->pass.output); }
  /// Runs the last batch once more, which must still be there, after a loss or gradient norm that
  /// was not finite, and names the first place that is not finite ("layer 3: linear of
  /// encoder.layer.3.output.dense.weight"); empty where all are. The gradients are 0 afterwards.
  std::string first_non_finite();
  Runner& runner() { return last_->runner; }
  const models::Pass& pass() const { return last_->pass; }
  /// Gives the plan of a step's first batch, on a processor of every batch.
  const Plan& plan() const { return *pass_.pass.plan; }
  /// Gives the arena to others that run between batches; what logits() gives is gone then.
  std::shared_ptr<Arena> arena() const { return arena_; }
  /// Gives the device's times in all, by its clock; waits for what was started.
  const StepTimes& times();
  double flops(const Extents& extents) const { return pass_.pass.plan->flops(extents); }

 private:
  /// A plan and what runs it.
  struct TrainingPass {
    models::Pass pass;
    Runner runner;
    std::vector<size_t> cuts;  ///< one of them is where the forward pass ends
    TrainingPass(Stepper& stepper, const models::TrainingOptions& options);
  };
  /// Marks of one batch on the device's clock.
  struct Marks {
    std::unique_ptr<Marker> idle_from;  ///< end of the step before
    std::unique_ptr<Marker> begin, middle, end;
    double waited = 0;
    bool follows = false;  ///< whether a step was ended before this batch
    bool open = false;
  };

  const std::string& name_of(const Weight& weight) const;
  void bind(TrainingPass& training, const data::Batch& batch, const StepState& state);
  void run(TrainingPass& training, Marks& marks, const Passed& passed);
  /// Takes the times of the oldest batches, all but `left`.
  void take(size_t left);

  models::Model& model_;
  ops::LossOptions loss_;
  models::TrainingOptions options_;
  bool planned_;
  nn::Parameters& parameters_;
  optim::Optimizer& optimizer_;
  ThreadPool& pool_;
  Backend& backend_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();  ///< shared by both passes
  TrainingPass pass_;  ///< pass of the first batch of a step, where it sets gradients; else of all
  std::unique_ptr<TrainingPass> more_;  ///< pass of the batches that follow, which add to them
  TrainingPass* last_ = &pass_;
  int64_t random_[2] = {};
  double scale_[2] = {};
  const std::vector<float>* teacher_;
  std::vector<float> taught_;  ///< the teacher's logits of the batch
  std::array<Marks, 32> marks_;
  size_t turn_ = 0;
  StepTimes times_;
};

}  // namespace hone::train
