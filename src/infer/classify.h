#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/model_config.h"

namespace hone::infer {

struct Prediction {
  std::string label;          ///< the best class; the one label's name for regression
  float score = 0;            ///< its probability; the value itself for regression
  std::vector<float> scores;  ///< by class: softmax, sigmoid (multi-label) or the value itself
  /// The classes of a multi-label model with a score of at least 0.5.
  std::vector<int64_t> chosen;
};

/// Says what a model's logits mean, by its problem type. A logit that is not finite is an error.
Prediction classify(const models::ModelConfig& config, std::span<const float> logits);

}  // namespace hone::infer
