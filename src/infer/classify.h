#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/config.h"

namespace hone::infer {

struct Prediction {
  std::string label;          ///< the best class; of regression the one label's name
  float score = 0;            ///< its probability; of regression the value itself
  std::vector<float> scores;  ///< by class: softmax, sigmoid (multi-label) or the value itself
  /// Multi-label: the classes with a score of at least 0.5.
  std::vector<int64_t> chosen;
};

/// What a model's logits mean, by its problem type. A logit that is not finite is an error.
Prediction classify(const models::EncoderConfig& config, std::span<const float> logits);

}  // namespace hone::infer
