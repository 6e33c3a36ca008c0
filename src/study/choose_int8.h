#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/records.h"
#include "infer/evaluate.h"

namespace hone::study {

struct Int8Options {
  double max_drop = 0.5;  ///< most that the metric may lose, in points (hundredths)
  /// Where true and the drop is larger, the parts that cost most are kept in higher precision until
  /// it is not.
  bool mixed = false;
  int threads = 0;
  int64_t max_length = 0;  ///< see SessionOptions
  infer::EvaluateOptions evaluate = {};
  /// Opens the data, from the start, at each call.
  std::function<std::vector<std::unique_ptr<data::RecordStream>>()> open;
};

struct Int8Choice {
  std::string metric;  ///< the task's first metric
  int64_t samples = 0;
  double before = 0;  ///< the metric in fp32; where there are several sets, their mean
  double after = 0;
  std::vector<std::string> kept;  ///< parts in higher precision
  /// Gives the points that each part's cut alone costs, where they were measured.
  std::vector<std::pair<std::string, double>> costs;

  double drop() const { return 100 * (before - after); }
};

/// Measures a model in fp32 and in int8. The caller decides what to do about too large a drop.
Int8Choice choose_int8(const std::string& model, const Int8Options& options);

}  // namespace hone::study
