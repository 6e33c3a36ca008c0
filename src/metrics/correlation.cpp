#include "metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hone::metrics {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

bool is_constant(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
}

bool is_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Two passes: the deviations are normed before their product is summed, as scipy does, so that
/// neither tiny nor huge values lose the result.
double pearson_of(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 2 || !is_finite(x) || !is_finite(y) || is_constant(x) || is_constant(y)) {
    return kUndefined;
  }
  const double mean_x = mean(x), mean_y = mean(y);
  double largest_x = 0, largest_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    largest_x = std::max(largest_x, std::abs(x[i] - mean_x));
    largest_y = std::max(largest_y, std::abs(y[i] - mean_y));
  }
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double dx = (x[i] - mean_x) / largest_x, dy = (y[i] - mean_y) / largest_y;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
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

void Correlation::merge(const Correlation& other) {
  predictions_.insert(predictions_.end(), other.predictions_.begin(), other.predictions_.end());
  labels_.insert(labels_.end(), other.labels_.begin(), other.labels_.end());
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
