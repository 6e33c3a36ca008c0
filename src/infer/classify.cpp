#include "infer/classify.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/cpu/softmax.h"

namespace hone::infer {

Prediction classify(const models::ModelConfig& config, std::span<const float> logits) {
  for (const float logit : logits) {
    if (!std::isfinite(logit)) {
      fail(ErrorKind::bad_file, "the model's answer is not finite: {}", logit);
    }
  }
  Prediction prediction;
  prediction.scores.assign(logits.begin(), logits.end());
  const auto count = static_cast<int64_t>(logits.size());
  float* scores = prediction.scores.data();
  if (config.problem == ProblemType::single_label) {
    kernels::softmax_rows(scores, 1, count, scores);
  } else if (config.problem == ProblemType::multi_label) {
    kernels::sigmoid(scores, count, scores);
    for (int64_t i = 0; i < count; ++i) {
      if (scores[i] >= 0.5f) prediction.chosen.push_back(i);
    }
  }
  const auto best = std::max_element(prediction.scores.begin(), prediction.scores.end());
  prediction.score = *best;
  prediction.label = config.labels[static_cast<size_t>(best - prediction.scores.begin())];
  return prediction;
}

}  // namespace hone::infer
