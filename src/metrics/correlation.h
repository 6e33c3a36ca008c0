#pragma once

#include <cstdint>
#include <vector>

namespace hone::metrics {

/// Agreement of scores; keeps every value (16 bytes a sample), since ranks need them all.
/// Definitions are scipy's: NaN for fewer than two samples, for a constant side, and where any
/// value is not finite.
class Correlation {
 public:
  void add(double prediction, double label);
  void merge(const Correlation& other);

  int64_t samples() const { return static_cast<int64_t>(labels_.size()); }
  double pearson() const;
  /// Pearson of the ranks; ties get the mean of their ranks.
  double spearman() const;
  /// Mean squared error; NaN of no samples.
  double mse() const;

  const std::vector<double>& predictions() const { return predictions_; }
  const std::vector<double>& labels() const { return labels_; }

 private:
  std::vector<double> predictions_;
  std::vector<double> labels_;
};

}  // namespace hone::metrics
