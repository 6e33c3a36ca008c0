#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::metrics {

/// Agreement of scores; keeps every value (16 bytes a sample), since ranks need them all.
/// Definitions are scipy's: NaN for fewer than two samples, for a constant side, and where any
/// value is not finite.
class Correlation {
 public:
  void add(double prediction, double label);
  /// Gives the pairs as numbers that another process can merge() behind its own.
  std::vector<double> values() const;
  void merge(std::span<const double> values);

  int64_t samples() const { return static_cast<int64_t>(labels_.size()); }
  double pearson() const;
  /// Gives Pearson's correlation of the ranks; ties get the mean of their ranks.
  double spearman() const;
  /// Gives the mean squared error; NaN for no samples.
  double mse() const;

  const std::vector<double>& predictions() const { return predictions_; }
  const std::vector<double>& labels() const { return labels_; }

 private:
  std::vector<double> predictions_;
  std::vector<double> labels_;
};

}  // namespace hone::metrics
