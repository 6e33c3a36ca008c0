#pragma once

#include "comm/communicator.h"
#include "train/datasets.h"
#include "train/loop.h"
#include "train/run_state.h"

namespace hone::train {

/// The number of processes, devices and threads that a run has.
struct RunSize {
  int ranks = 1;
  int64_t devices = 1;  ///< devices of all ranks together
  int threads = 1;      ///< threads of a rank
};

/// Lists what a run depends on. A checkpoint keeps it.
Fingerprint fingerprint_of(const Options& options, const TrainedModel& model, const Datasets& data,
                           const StepSchedule& schedule, const RunSize& size);

/// Fails on all ranks where one has another version, config, tokenizer or instruction set.
void agree_on_model(comm::Communicator& ranks, const Options& options, const TrainedModel& model);
/// Fails on all ranks where the weights that two have loaded differ.
void agree_on_weights(comm::Communicator& ranks, const TrainedModel& model);
/// Fails on all ranks where the evaluation sets of two differ, of which each scores a part.
void agree_on_evaluations(comm::Communicator& ranks, const Datasets& data);
/// Fails on all ranks where the runs of two differ; they may have other threads.
void agree_on_run(comm::Communicator& ranks, const Fingerprint& fingerprint);

}  // namespace hone::train
