#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metrics/scorer.h"

namespace hone::metrics {

/// Compares a model's logits with the labels, sample by sample: scores, and the loss. A logit that
/// is not finite is an error.
class Judge {
 public:
  /// Without `metrics`: the problem's usual ones.
  Judge(Problem problem, int64_t classes, std::vector<std::string> metrics);

  /// The one of the problem is to be used.
  void add_class(std::span<const float> logits, int64_t label);
  void add_labels(std::span<const float> logits, const std::vector<bool>& labels);
  void add_score(std::span<const float> logits, double score);

  /// Mean over the samples: cross-entropy, squared error, or binary cross-entropy over all labels.
  double loss() const;
  std::vector<std::pair<std::string, double>> results() const { return scorer_.results(); }

 private:
  Scorer scorer_;
  double loss_ = 0;
  int64_t samples_ = 0;
};

}  // namespace hone::metrics
