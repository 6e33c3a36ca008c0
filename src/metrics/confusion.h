#pragma once

#include <cstdint>
#include <vector>

namespace hone::metrics {

/// Counts of (label, prediction); all single-label metrics come from it. Sums over ranks add up.
/// Definitions are scikit-learn's; of no samples every metric is NaN.
class Confusion {
 public:
  explicit Confusion(int64_t classes);

  void add(int64_t prediction, int64_t label);
  void merge(const Confusion& other);

  int64_t samples() const;
  double accuracy() const;
  /// Of class 1 against all others, as GLUE's F1; 0 where precision and recall are 0 or undefined.
  double f1() const;
  /// Unweighted mean of the F1 of every class that occurs as a label or a prediction.
  double f1_macro() const;
  /// For any number of classes; 0 where labels or predictions are all the same.
  double matthews() const;

  int64_t classes() const { return classes_; }
  /// [label * classes + prediction]
  const std::vector<int64_t>& counts() const { return counts_; }

 private:
  int64_t labelled(int64_t label) const;
  int64_t predicted(int64_t prediction) const;
  double f1_of(int64_t positive) const;

  int64_t classes_;
  std::vector<int64_t> counts_;
};

}  // namespace hone::metrics
