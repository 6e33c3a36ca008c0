#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/problem_type.h"
#include "models/exits.h"

namespace hone::models {

/// Says how a model is cut to int8.
struct Quantization {
  bool stored = false;  ///< the folder's weights are bytes (see models/int8.h)
  /// Lists the parts that keep a higher precision where the rest runs in int8, from
  /// ModelConfig::parts().
  std::vector<std::string> kept = {};

  bool keeps(std::string_view part) const {
    return std::find(kept.begin(), kept.end(), part) != kept.end();
  }
};

/// The fields that every model's config has, whatever its family.
struct ModelConfig {
  virtual ~ModelConfig() = default;
  virtual std::unique_ptr<ModelConfig> clone() const = 0;
  /// Says for people, and for checkpoints, which model of its family it is.
  virtual std::string summary() const = 0;
  /// Gives numbers that describe it, by the names that users know ("hidden_size").
  virtual std::vector<std::pair<std::string, int64_t>> facts() const = 0;
  /// Gives the number of layers that run, one after the other.
  virtual int64_t depth() const = 0;
  /// Gives the most units (tokens, pixels) of a sample.
  virtual int64_t max_units() const = 0;
  /// Lists the parts that can be kept in higher precision under int8; none: the family has no int8.
  virtual std::vector<std::string> parts() const { return {}; }

  std::string model_type;
  ProblemType problem = ProblemType::single_label;
  std::vector<std::string> labels;  ///< by class id
  bool labels_named = false;        ///< false where they are LABEL_0, LABEL_1, ...
  float initializer_range = 0.02f;  ///< standard deviation of new weights
  Quantization quantization;
  ExitSettings exits;

 protected:
  ModelConfig() = default;
  ModelConfig(const ModelConfig&) = default;
  ModelConfig& operator=(const ModelConfig&) = default;
};

/// Reads and checks a config.json that has been parsed; `file` names it in errors. An unknown
/// model_type or a field whose value would change the result unsupported is an error.
std::unique_ptr<ModelConfig> read_model_config(const Json& json, const std::string& file);

/// Writes `config`'s label names, problem type and exits into a config.json's object.
void write_labels(const ModelConfig& config, Json& json);

}  // namespace hone::models
