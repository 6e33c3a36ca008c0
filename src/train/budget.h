#pragma once

#include <memory>
#include <string>

#include "data/sampler.h"
#include "models/encoder.h"
#include "plan/execution.h"
#include "train/run.h"
#include "train/trainee.h"

namespace hone::train {

/// What memory goes by.
struct BatchSize {
  int64_t sequences = 0;
  int64_t tokens = 0;
};

/// What a training step takes, known before a weight is read or a sample tokenised.
class MemoryEstimate {
 public:
  /// `trainable`: by slot of the encoder, which must outlive this. No sample is over `max_length`.
  MemoryEstimate(const models::Encoder& encoder, const std::vector<bool>& trainable,
                 const ops::LossOptions& loss, const Options& options, int64_t max_length,
                 ThreadPool& pool);

  /// `accumulation`: batches a step.
  MemoryUse of(const BatchSize& batch, int64_t accumulation = 1) const;
  double flops(const BatchSize& batch) const;

 private:
  struct Pass {
    models::TrainingStep step;
    Execution execution;
    Pass(const models::Encoder& encoder, const std::vector<bool>& trainable,
         const ops::LossOptions& loss, const models::TrainingOptions& options, ThreadPool& pool);
  };
  Pass first_;
  std::unique_ptr<Pass> more_;  ///< on a GPU: of the batches that follow; see Stepper
  int64_t max_length_;
  MemoryUse fixed_;
};

Extents extents_of(const BatchSize& batch, int64_t longest);

/// The most sequences and the most tokens of a batch in the run's epochs.
BatchSize largest_batch(const data::Sampler& sampler, int64_t epochs);
/// The same where lengths are not known yet, only that none is over `max_length`.
BatchSize largest_batch(const BatchOptions& options, int64_t max_length);

/// Halves what limits a batch, samples and tokens, beginning with what the largest one has of them;
/// doubles the batches of a step.
void halve(BatchOptions& options, const BatchSize& largest);
/// What limits a step: "8 samples", "2 x 4096 tokens".
std::string step_limits(const BatchOptions& options);

/// Memory that this process could still take: what the system, its control group and its own
/// limits leave.
uint64_t available_memory(bool gpu = false);

}  // namespace hone::train
