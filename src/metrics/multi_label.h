#pragma once

#include <cstdint>
#include <vector>

namespace hone::metrics {

/// Metrics of samples that may have any number of labels; of no samples NaN.
class MultiLabel {
 public:
  /// For each label whether it was predicted and whether it applies; equally long.
  void add(const std::vector<bool>& prediction, const std::vector<bool>& label);
  void merge(const MultiLabel& other);

  int64_t samples() const { return samples_; }
  /// F1 over all (sample, label) pairs; 0 where nothing was predicted and nothing applies.
  double f1_micro() const;
  /// The share of samples with every label right.
  double subset_accuracy() const;

 private:
  int64_t samples_ = 0;
  int64_t exact_ = 0;
  int64_t true_positives_ = 0;
  int64_t false_positives_ = 0;
  int64_t false_negatives_ = 0;
};

}  // namespace hone::metrics
