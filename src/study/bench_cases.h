#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace hone::study {

struct BenchOptions {
  DType dtype = DType::f32;
  std::string device = "cpu";  ///< a name that select_device() takes
  bool tune = false;           ///< whether a GPU looks for the fastest products first
  std::string tuning = {};     ///< a file of a GPU's fastest products, see CudaTuning
  int threads = 0;             ///< 0: the cores that the process may use
  double seconds = 3;          ///< duration of timed rounds, at least three of them
  /// Token counts of the sentences of an `-sst2-` case, in file order; where there are none, they
  /// are drawn from a fixed distribution like SST-2's.
  std::vector<int64_t> lengths;
};

struct BenchResult {
  std::string name;
  double median_ms = 0;
  double p10_ms = 0;
  double p90_ms = 0;
  double per_second = 0;     ///< sequences a second
  double gflops = 0;         ///< GFLOP/s of the matrix products
  double gbytes_per_s = 0;   ///< GB/s of weights read, each once a forward pass
  double share_of_peak = 0;  ///< gflops over what multiply-adds on registers reach in this process
  std::string kernel;        ///< kernel of the matrix products
  bool checked = false;
};

/// Lists names like "bert-base-b1-len32", for help and messages.
std::vector<std::string> bench_case_names();

/// Builds the case's model with random weights, checks that every sequence's logits have the same
/// bits alone and in its batch, and times forward passes from token ids to logits. An unknown name
/// is a usage error.
BenchResult run_bench_case(const std::string& name, const BenchOptions& options);

}  // namespace hone::study
