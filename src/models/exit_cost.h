#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace hone::models {

/// The measured cost of a model's layers on a device: the file exit_cost.json that `hone bench
/// --small` writes.
struct ExitCost {
  std::string model;             ///< ModelConfig::summary()
  std::string device;            ///< "cpu" or "cuda"
  std::string machine;           ///< names the device for people
  std::vector<double> layer_ms;  ///< a text's; embeddings count with the first, heads with the last

  /// Gives, by layer, the cost of all layers up to it as a share of the whole.
  std::vector<double> shares() const;
};

/// The file is hostile: sizes and numbers are checked.
ExitCost read_exit_cost(const std::string& path);
void write_exit_cost(const ExitCost& cost, const std::string& path);

}  // namespace hone::models
