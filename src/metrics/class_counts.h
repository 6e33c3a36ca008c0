#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone::metrics {

/// For each class how often it was the label, the prediction and both; every single-label metric
/// comes from these. Sums over ranks add up.
/// Definitions are scikit-learn's; of no samples every metric is NaN.
class ClassCounts {
 public:
  explicit ClassCounts(int64_t classes);

  void add(int64_t prediction, int64_t label);
  void merge(const ClassCounts& other);

  int64_t samples() const;
  double accuracy() const;
  /// Of class 1 against all others, as GLUE's F1; 0 where precision and recall are 0 or undefined.
  double f1() const;
  /// Unweighted mean of the F1 of every class that occurs as a label or a prediction.
  double f1_macro() const;
  /// For any number of classes; 0 where labels or predictions are all the same.
  double matthews() const;

  const std::vector<int64_t>& labelled() const { return labelled_; }
  const std::vector<int64_t>& predicted() const { return predicted_; }
  const std::vector<int64_t>& correct() const { return correct_; }

 private:
  double f1_of(size_t positive) const;

  std::vector<int64_t> labelled_;
  std::vector<int64_t> predicted_;
  std::vector<int64_t> correct_;
};

}  // namespace hone::metrics
