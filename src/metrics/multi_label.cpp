#include "metrics/multi_label.h"

#include "base/error.h"
#include "metrics/undefined.h"

namespace hone::metrics {

void MultiLabel::add(const std::vector<bool>& prediction, const std::vector<bool>& label) {
  if (prediction.size() != label.size()) {
    fail(ErrorKind::internal, "multi-label: {} predictions for {} labels", prediction.size(),
         label.size());
  }
  for (size_t i = 0; i < label.size(); ++i) {
    true_positives_ += prediction[i] && label[i];
    false_positives_ += prediction[i] && !label[i];
    false_negatives_ += !prediction[i] && label[i];
  }
  exact_ += prediction == label;
  ++samples_;
}

std::vector<double> MultiLabel::values() const {
  std::vector<double> values;
  for (const int64_t count :
       {samples_, exact_, true_positives_, false_positives_, false_negatives_}) {
    values.push_back(static_cast<double>(count));
  }
  return values;
}

void MultiLabel::merge(std::span<const double> values) {
  const double* value = values.data();
  for (int64_t* count :
       {&samples_, &exact_, &true_positives_, &false_positives_, &false_negatives_}) {
    *count += static_cast<int64_t>(*value++);
  }
}

double MultiLabel::f1_micro() const {
  if (samples_ == 0) return kUndefined;
  const int64_t positives = 2 * true_positives_ + false_positives_ + false_negatives_;
  if (positives == 0) return 0;
  return 2.0 * static_cast<double>(true_positives_) / static_cast<double>(positives);
}

double MultiLabel::subset_accuracy() const {
  if (samples_ == 0) return kUndefined;
  return static_cast<double>(exact_) / static_cast<double>(samples_);
}

}  // namespace hone::metrics
