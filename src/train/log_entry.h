#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hone::train {

/// One rank's part of a step.
struct RankEntry {
  std::string host;
  int64_t samples = 0;
  double seconds = 0;  ///< excludes waiting for others
};

/// Holds what a run says of itself at one step: names and numbers ("loss", "learning_rate"), in
/// order.
struct LogEntry {
  int64_t step = 0;
  double epoch = 0;
  std::vector<std::pair<std::string, double>> values;
  std::vector<RankEntry> ranks = {};  ///< by rank, where shares follow speed
};

}  // namespace hone::train
