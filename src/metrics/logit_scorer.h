#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metrics/scorer.h"

namespace hone::metrics {

/// Compares a model's logits with the labels, sample by sample: scores, and the loss. A logit that
/// is not finite is an error.
class LogitScorer {
 public:
  /// Makes a scorer of these metrics; where there are none, of the problem's usual ones.
  LogitScorer(ProblemType problem, int64_t classes, std::vector<std::string> metrics);

  /// The call that belongs to the problem is to be used.
  void add_class(std::span<const float> logits, int64_t label);
  void add_labels(std::span<const float> logits, const std::vector<bool>& labels);
  void add_score(std::span<const float> logits, double score);

  /// Gives all that was added as numbers that another process can merge() behind its own: the
  /// results are then, bit for bit, those of one scorer that saw these samples in the same order.
  std::vector<double> values() const;
  void merge(std::span<const double> values);

  /// Gives the mean over the samples of cross-entropy, squared error, or binary cross-entropy over
  /// all labels.
  double loss() const;
  std::vector<std::pair<std::string, double>> results() const { return scorer_.results(); }

 private:
  Scorer scorer_;
  std::vector<double> losses_;  ///< one a sample: their sum depends on the order
};

}  // namespace hone::metrics
