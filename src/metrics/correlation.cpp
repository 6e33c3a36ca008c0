#include "metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metrics/undefined.h"

namespace hone::metrics {
namespace {

bool is_constant(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
}

bool is_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

/// Gives differences from the mean, scaled to at most 1 so that no product of two under- or
/// overflows. The first value is taken off before the mean is: where values lie close together far
/// from zero the mean itself is too coarse a number.
std::vector<double> deviations(std::vector<double> values) {
  const double first = values[0], count = static_cast<double>(values.size());
  double sum = 0, largest = 0;
  for (double& value : values) sum += value -= first;
  for (double& value : values) largest = std::max(largest, std::abs(value -= sum / count));
  for (double& value : values) value /= largest;
  return values;
}

double pearson_of(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 2 || !is_finite(x) || !is_finite(y) || is_constant(x) || is_constant(y)) {
    return kUndefined;
  }
  const std::vector<double> from_x = deviations(x), from_y = deviations(y);
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += from_x[i] * from_x[i];
    yy += from_y[i] * from_y[i];
    xy += from_x[i] * from_y[i];
  }
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;  // the mean of begin+1 .. end
    for (; begin < end; ++begin) ranks[order[begin]] = rank;
  }
  return ranks;
}

}  // namespace

void Correlation::add(double prediction, double label) {
  predictions_.push_back(prediction);
  labels_.push_back(label);
}

std::vector<double> Correlation::values() const {
  std::vector<double> values = predictions_;
  values.insert(values.end(), labels_.begin(), labels_.end());
  return values;
}

void Correlation::merge(std::span<const double> values) {
  const auto half = static_cast<ptrdiff_t>(values.size() / 2);
  predictions_.insert(predictions_.end(), values.begin(), values.begin() + half);
  labels_.insert(labels_.end(), values.begin() + half, values.end());
}

double Correlation::pearson() const { return pearson_of(predictions_, labels_); }

double Correlation::spearman() const {
  if (!is_finite(predictions_) || !is_finite(labels_)) return kUndefined;
  return pearson_of(ranks_of(predictions_), ranks_of(labels_));
}

double Correlation::mse() const {
  double sum = 0;
  for (size_t i = 0; i < labels_.size(); ++i) {
    const double error = predictions_[i] - labels_[i];
    sum += error * error;
  }
  return labels_.empty() ? kUndefined : sum / static_cast<double>(labels_.size());
}

}  // namespace hone::metrics
