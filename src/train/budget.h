#pragma once

#include "data/sampler.h"
#include "models/encoder.h"
#include "plan/execution.h"
#include "train/run.h"
#include "train/trainee.h"

namespace hone::train {

/// What a training step takes, known before a weight is read or a sample tokenised.
class MemoryEstimate {
 public:
  /// `trainable`: by slot of the encoder, which must outlive this.
  MemoryEstimate(const models::Encoder& encoder, const std::vector<bool>& trainable,
                 const ops::LossOptions& loss, const Options& options, ThreadPool& pool);

  /// For batches of this many sequences and tokens.
  MemoryUse of(int64_t sequences, int64_t tokens) const;
  /// Of one such batch.
  double flops(int64_t sequences, int64_t tokens) const;

 private:
  models::TrainingStep step_;
  Execution execution_;
  MemoryUse fixed_;
};

/// The most tokens of a batch in the run's epochs.
int64_t largest_batch(const data::Sampler& sampler, int64_t epochs);

/// Memory that this process could still take: what the system, its control group and its own
/// limits leave.
uint64_t available_memory();

}  // namespace hone::train
