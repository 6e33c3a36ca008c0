#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::metrics {

/// Metrics of samples that may have any number of labels; those of no samples are NaN.
class MultiLabel {
 public:
  /// Adds a sample: for each label whether it was predicted and whether it applies; both are
  /// equally long.
  void add(const std::vector<bool>& prediction, const std::vector<bool>& label);
  /// Gives the kCounts counts as numbers that another process can merge() with its own.
  std::vector<double> values() const;
  void merge(std::span<const double> values);
  static constexpr size_t kCounts = 5;

  int64_t samples() const { return samples_; }
  /// Gives F1 over all (sample, label) pairs; 0 where nothing was predicted and nothing applies.
  double f1_micro() const;
  /// Gives the share of samples with every label right.
  double subset_accuracy() const;

 private:
  int64_t samples_ = 0;
  int64_t exact_ = 0;
  int64_t true_positives_ = 0;
  int64_t false_positives_ = 0;
  int64_t false_negatives_ = 0;
};

}  // namespace hone::metrics
