#include "metrics/logit_scorer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace hone::metrics {
namespace {

void check_finite(std::span<const float> logits) {
  for (const float logit : logits) {
    if (!std::isfinite(logit)) fail(ErrorKind::bad_file, "the model's answer is not finite");
  }
}

/// log(1 + e^x) without overflow.
double softplus(double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::abs(x))); }

double cross_entropy(std::span<const float> logits, size_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return std::log(sum) + largest - logits[label];
}

/// Says whether a class is among the best so many; of equal ones the first are better.
bool is_among_best(std::span<const float> logits, size_t label, int count) {
  for (size_t i = 0; i < logits.size() && count > 0; ++i) {
    count -= logits[i] > logits[label] || (logits[i] == logits[label] && i < label);
  }
  return count > 0;
}

double binary_cross_entropy(std::span<const float> logits, const std::vector<bool>& labels) {
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    sum += softplus(logits[i]) - (labels[i] ? logits[i] : 0.);
  return sum / static_cast<double>(logits.size());
}

}  // namespace

LogitScorer::LogitScorer(ProblemType problem, int64_t classes, std::vector<std::string> metrics)
    : scorer_(problem, classes,
              metrics.empty() ? default_metrics(problem, classes) : std::move(metrics)) {}

void LogitScorer::add_class(std::span<const float> logits, int64_t label) {
  check_finite(logits);
  losses_.push_back(cross_entropy(logits, static_cast<size_t>(label)));
  scorer_.add_class(std::max_element(logits.begin(), logits.end()) - logits.begin(), label);
  scorer_.add_top5(is_among_best(logits, static_cast<size_t>(label), 5));
}

void LogitScorer::add_labels(std::span<const float> logits, const std::vector<bool>& labels) {
  check_finite(logits);
  losses_.push_back(binary_cross_entropy(logits, labels));
  std::vector<bool> chosen(logits.size());
  for (size_t k = 0; k < logits.size(); ++k) chosen[k] = logits[k] >= 0;
  scorer_.add_labels(chosen, labels);
}

void LogitScorer::add_score(std::span<const float> logits, double score) {
  check_finite(logits);
  const double error = logits[0] - score;
  losses_.push_back(error * error);
  scorer_.add_score(logits[0], score);
}

double LogitScorer::loss() const {
  const double sum = std::accumulate(losses_.begin(), losses_.end(), 0.);
  return sum / static_cast<double>(losses_.size());
}

std::vector<double> LogitScorer::values() const {
  std::vector<double> values = {static_cast<double>(losses_.size())};
  values.insert(values.end(), losses_.begin(), losses_.end());
  const std::vector<double> scores = scorer_.values();
  values.insert(values.end(), scores.begin(), scores.end());
  return values;
}

void LogitScorer::merge(std::span<const double> values) {
  const auto losses = values.subspan(1, static_cast<size_t>(values.front()));
  losses_.insert(losses_.end(), losses.begin(), losses.end());
  scorer_.merge(values.subspan(1 + losses.size()));
}

}  // namespace hone::metrics
