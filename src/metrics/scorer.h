#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem_type.h"
#include "metrics/class_counts.h"
#include "metrics/correlation.h"
#include "metrics/multi_label.h"

namespace hone::metrics {

/// Lists what is reported for own files: accuracy and f1_macro (and GLUE's f1 for two classes);
/// f1_micro and subset_accuracy; pearson, spearmanr and mse.
std::vector<std::string> default_metrics(ProblemType problem, int64_t classes);

/// Collects predictions and reports metrics by the names of GLUE in `evaluate`: accuracy, f1,
/// matthews_correlation, pearson, spearmanr; also top5_accuracy, f1_macro, f1_micro,
/// subset_accuracy, mse.
class Scorer {
 public:
  /// A name that does not belong to the problem is a usage error.
  Scorer(ProblemType problem, int64_t classes, std::vector<std::string> metrics);

  /// The call that belongs to the problem is to be used.
  void add_class(int64_t prediction, int64_t label) { counts_.add(prediction, label); }
  /// Says of the class added last whether it was among the five best.
  void add_top5(bool among) { counts_.add_top5(among); }
  void add_labels(const std::vector<bool>& prediction, const std::vector<bool>& label) {
    multi_label_.add(prediction, label);
  }
  void add_score(double prediction, double label) { correlation_.add(prediction, label); }

  /// Gives all that was added as numbers, which another rank can merge() behind its own share.
  std::vector<double> values() const;
  void merge(std::span<const double> values);
  int64_t samples() const;
  /// Gives results in the order asked for. NaN where a metric is undefined (JSON has to write
  /// null).
  std::vector<std::pair<std::string, double>> results() const;

 private:
  ProblemType problem_;
  std::vector<std::string> metrics_;
  ClassCounts counts_;
  MultiLabel multi_label_;
  Correlation correlation_;
};

}  // namespace hone::metrics
