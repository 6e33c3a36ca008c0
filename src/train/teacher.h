#pragma once

#include "ops/loss.h"
#include "train/datasets.h"
#include "train/run.h"

namespace hone::train {

/// Gives what the options' teacher adds to the loss of `student`. One that cannot teach it is an
/// error that says why; no weight is read.
ops::DistillOptions distillation(const Options& options, const TrainedModel& student);

/// Runs the options' teacher over all training samples and keeps its logits with them; does nothing
/// where there is no other model that teaches.
void teach(const Options& options, Datasets& data, ThreadPool& pool, Observer& observer);

}  // namespace hone::train
