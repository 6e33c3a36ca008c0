#pragma once

#include "train/options.h"

namespace hone::study {

struct LoaderBenchResult {
  double seconds = 0;         ///< time to make all batches of an epoch
  double encode_seconds = 0;  ///< time to encode the training set, once
  int64_t samples = 0;        ///< samples of an epoch
  int64_t batches = 0;
  int64_t epochs = 0;  ///< epochs that were timed
};

/// Makes the batches of whole epochs of the options' training set, without a model's work on them,
/// by the options' workers, for at least half a second.
LoaderBenchResult run_loader_bench(const train::Options& options);

}  // namespace hone::study
