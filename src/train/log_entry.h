#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hone::train {

/// What a run says of itself at one step: names and numbers ("loss", "learning_rate"), in order.
struct LogEntry {
  int64_t step = 0;
  double epoch = 0;
  std::vector<std::pair<std::string, double>> values;
};

}  // namespace hone::train
