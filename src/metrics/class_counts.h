#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hone::metrics {

/// Counts for each class how often it was the label, the prediction and both; every single-label
/// metric comes from these, and counts of several ranks add up. Definitions are scikit-learn's;
/// every metric of no samples is NaN.
class ClassCounts {
 public:
  explicit ClassCounts(int64_t classes);

  void add(int64_t prediction, int64_t label);
  /// Says of the sample added last whether its label was among the five best classes.
  void add_top5(bool among) { top5_ += among; }
  /// Gives the counts as numbers that another process can merge() with its own.
  std::vector<double> values() const;
  void merge(std::span<const double> values);

  int64_t samples() const;
  double accuracy() const;
  double top5_accuracy() const;
  /// Gives the F1 of class 1 against all others, as GLUE's; 0 where precision and recall are 0 or
  /// undefined.
  double f1() const;
  /// Gives the unweighted mean of the F1 of every class that occurs as a label or a prediction.
  double f1_macro() const;
  /// Gives Matthews' correlation for any number of classes; 0 where labels or predictions are all
  /// the same.
  double matthews() const;

 private:
  double f1_of(size_t positive) const;

  std::vector<int64_t> labelled_;
  std::vector<int64_t> predicted_;
  std::vector<int64_t> correct_;
  int64_t top5_ = 0;
};

}  // namespace hone::metrics
