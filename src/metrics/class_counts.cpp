#include "metrics/class_counts.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "metrics/undefined.h"

namespace hone::metrics {
namespace {

int64_t sum(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

void add_to(std::vector<int64_t>& counts, std::span<const double> others) {
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += static_cast<int64_t>(others[i]);
}

}  // namespace

ClassCounts::ClassCounts(int64_t classes)
    : labelled_(static_cast<size_t>(classes)),
      predicted_(static_cast<size_t>(classes)),
      correct_(static_cast<size_t>(classes)) {}

void ClassCounts::add(int64_t prediction, int64_t label) {
  const int64_t classes = static_cast<int64_t>(labelled_.size());
  if (prediction < 0 || prediction >= classes || label < 0 || label >= classes) {
    fail(ErrorKind::internal, "metrics: {} classes, got prediction {} and label {}", classes,
         prediction, label);
  }
  ++labelled_[static_cast<size_t>(label)];
  ++predicted_[static_cast<size_t>(prediction)];
  correct_[static_cast<size_t>(label)] += prediction == label;
}

std::vector<double> ClassCounts::values() const {
  std::vector<double> values(labelled_.begin(), labelled_.end());
  values.insert(values.end(), predicted_.begin(), predicted_.end());
  values.insert(values.end(), correct_.begin(), correct_.end());
  values.push_back(static_cast<double>(top5_));
  return values;
}

void ClassCounts::merge(std::span<const double> values) {
  const size_t classes = labelled_.size();
  if (values.size() != 3 * classes + 1) {
    fail(ErrorKind::internal, "metrics: {} classes, got {} counts", classes, values.size());
  }
  add_to(labelled_, values.subspan(0, classes));
  add_to(predicted_, values.subspan(classes, classes));
  add_to(correct_, values.subspan(2 * classes, classes));
  top5_ += static_cast<int64_t>(values.back());
}

int64_t ClassCounts::samples() const { return sum(labelled_); }

double ClassCounts::accuracy() const {
  const int64_t all = samples();
  return all == 0 ? kUndefined : static_cast<double>(sum(correct_)) / static_cast<double>(all);
}

double ClassCounts::top5_accuracy() const {
  const int64_t all = samples();
  return all == 0 ? kUndefined : static_cast<double>(top5_) / static_cast<double>(all);
}

double ClassCounts::f1_of(size_t positive) const {
  const int64_t either = labelled_[positive] + predicted_[positive];
  if (either == 0) return 0;
  return 2.0 * static_cast<double>(correct_[positive]) / static_cast<double>(either);
}

double ClassCounts::f1() const {
  if (samples() == 0) return kUndefined;
  return labelled_.size() > 1 ? f1_of(1) : 0;
}

double ClassCounts::f1_macro() const {
  double total = 0;
  int64_t occurring = 0;
  for (size_t c = 0; c < labelled_.size(); ++c) {
    if (labelled_[c] + predicted_[c] == 0) continue;
    total += f1_of(c);
    ++occurring;
  }
  return occurring == 0 ? kUndefined : total / static_cast<double>(occurring);
}

double ClassCounts::matthews() const {
  const double all = static_cast<double>(samples());
  if (all == 0) return kUndefined;
  double right = 0, products = 0, labelled_squared = 0, predicted_squared = 0;
  for (size_t c = 0; c < labelled_.size(); ++c) {
    const double label = static_cast<double>(labelled_[c]);
    const double prediction = static_cast<double>(predicted_[c]);
    right += static_cast<double>(correct_[c]);
    products += label * prediction;
    labelled_squared += label * label;
    predicted_squared += prediction * prediction;
  }
  const double label_spread = all * all - labelled_squared;
  const double prediction_spread = all * all - predicted_squared;
  if (label_spread == 0 || prediction_spread == 0) return 0;
  return (right * all - products) / (std::sqrt(label_spread) * std::sqrt(prediction_spread));
}

}  // namespace hone::metrics
