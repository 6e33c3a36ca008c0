#pragma once

#include <memory>
#include <string>

#include "data/sampler.h"
#include "models/model.h"
#include "plan/runner.h"
#include "train/run.h"
#include "train/trained_model.h"

namespace hone::train {

/// The sizes that memory goes by.
struct BatchSize {
  int64_t samples = 0;
  int64_t units = 0;
};

/// Estimates what a training step takes, before a weight is read or a sample encoded.
class MemoryEstimate {
 public:
  /// `trainable` is by slot of the model. Model and processor must outlive this.
  MemoryEstimate(const models::Model& model, const data::Processor& processor,
                 const std::vector<bool>& trainable, const ops::LossOptions& loss,
                 const Options& options, ThreadPool& pool);

  /// Gives what a step takes; `accumulation` is its number of batches.
  MemoryUse of(const BatchSize& batch, int64_t accumulation = 1) const;
  double flops(const BatchSize& batch) const;

 private:
  struct TrainingPass {
    models::Pass pass;
    Runner runner;
    TrainingPass(const models::Model& model, const std::vector<bool>& trainable,
                 const ops::LossOptions& loss, const models::TrainingOptions& options, bool planned,
                 ThreadPool& pool);
  };
  TrainingPass first_;
  std::unique_ptr<TrainingPass> more_;  ///< the pass of the batches that follow, where they differ
  const data::Processor& processor_;
  MemoryUse fixed_;
};

Extents extents_of(const BatchSize& batch, const data::Processor& processor);

/// Gives the most samples and the most units of a batch in the run's epochs.
BatchSize largest_batch(const data::Sampler& sampler, int64_t epochs);
/// Gives the largest batch where lengths are not known yet, only that none has more than
/// `max_units`.
BatchSize largest_batch(const BatchOptions& options, int64_t max_units);

/// Gives the most that one of `devices` gets of such a batch, which is dealt by units.
BatchSize share_of(const BatchSize& batch, int64_t devices, int64_t max_units);

/// Halves what limits a batch, samples and tokens, beginning with what the largest one has of them;
/// doubles the batches of a step.
void halve(BatchOptions& options, const BatchSize& largest);
/// Says what limits a step: "8 samples", "2 x 4096 tokens".
std::string step_limits(const BatchOptions& options);

/// Gives the memory that this process could still take: what the system, its control group and its
/// own limits leave.
uint64_t available_memory(bool gpu = false);

}  // namespace hone::train
