#pragma once

#include "plan/runner.h"
#include "study/bench_cases.h"

namespace hone::study {

struct TrainBenchOptions {
  BenchOptions common;
  int64_t checkpoint_segments = 0;
  bool by_layer = false;  ///< ops are told apart by their layers, too
};

struct TrainBenchResult {
  std::string name;
  double median_ms = 0;  ///< a step: forward, backward, clipping and AdamW
  double p10_ms = 0;
  double p90_ms = 0;
  double cpu_ms = 0;      ///< processor time a step, on average: more telling on a busy machine
  double per_second = 0;  ///< sequences a second
  double forward_ms = 0;  ///< a step's forward pass, on average
  double backward_ms = 0;
  double optimizer_ms = 0;
  double gflops = 0;         ///< GFLOP/s of the matrix products
  double share_of_peak = 0;  ///< gflops over what multiply-adds on registers reach in this process
  size_t activation_bytes = 0;  ///< arena and workspace of the largest batch
  size_t device_bytes = 0;      ///< bytes of a GPU that the model, its optimiser and its plans took
  std::vector<OpTime> ops;      ///< summed over the timed steps
  int64_t steps = 0;
};

/// Lists names like "train-bert-base-b8-len128".
std::vector<std::string> train_bench_names();

/// Trains the case's model from random weights with dropout 0.1 and random labels, and times steps
/// after one that is not timed. A loss that is not finite is an error. An unknown name is a usage
/// error.
TrainBenchResult run_train_bench(const std::string& name, const TrainBenchOptions& options);

}  // namespace hone::study
