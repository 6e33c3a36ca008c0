#include "kernels/cpu/distill.h"

#include <algorithm>
#include <cmath>

namespace hone::kernels {
namespace {

template <typename T>
double log_sum_exp_at(const T* logits, int64_t count, double temperature) {
  const double largest = *std::max_element(logits, logits + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp((logits[i] - largest) / temperature);
  return largest / temperature + std::log(sum);
}

/// `add` hears the slope of the loss at each logit.
template <typename T, typename Add>
double classes_loss(const T* logits, const T* teacher, int64_t classes, double t, const Add& add) {
  const double log_sum = log_sum_exp_at(logits, classes, t);
  const double teacher_sum = log_sum_exp_at(teacher, classes, t);
  double loss = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const double own = logits[c] / t - log_sum, taught = teacher[c] / t - teacher_sum;
    loss += std::exp(taught) * (taught - own);
    add(c, t * (std::exp(own) - std::exp(taught)));
  }
  return t * t * loss;
}

double log_sigmoid(double x) { return std::min(x, 0.) - std::log1p(std::exp(-std::abs(x))); }

template <typename T, typename Add>
double flags_loss(const T* logits, const T* teacher, int64_t classes, double t, const Add& add) {
  double loss = 0;
  const auto width = static_cast<double>(classes);
  for (int64_t c = 0; c < classes; ++c) {
    const double own = logits[c] / t, taught = teacher[c] / t;
    const double p = std::exp(log_sigmoid(taught));
    loss += p * (log_sigmoid(taught) - log_sigmoid(own)) +
            (1 - p) * (log_sigmoid(-taught) - log_sigmoid(-own));
    add(c, t * (std::exp(log_sigmoid(own)) - p) / width);
  }
  return t * t * loss / width;
}

template <typename T, typename Add>
double values_loss(const T* logits, const T* teacher, int64_t classes, const Add& add) {
  double loss = 0;
  const auto width = static_cast<double>(classes);
  for (int64_t c = 0; c < classes; ++c) {
    const double error = static_cast<double>(logits[c]) - static_cast<double>(teacher[c]);
    loss += error * error;
    add(c, 2 * error / width);
  }
  return loss / width;
}

}  // namespace

template <typename T>
void add_distillation(const T* logits, const T* teacher, int64_t n, int64_t classes,
                      const Distillation& options, LossScale scale, const LossOutputs<T>& outputs) {
  const double t = options.temperature;
  const double factor = scale.scale / scale.count;
  double sum = 0;
  for (int64_t row = 0; row < n; ++row) {
    const T* own = logits + row * classes;
    const T* taught = teacher + row * classes;
    const auto add = [&](int64_t c, double slope) {
      if (outputs.dlogits) outputs.dlogits[row * classes + c] += static_cast<T>(slope * factor);
    };
    switch (options.kind) {
      case LossKind::cross_entropy:
      case LossKind::soft_cross_entropy:
        sum += classes_loss(own, taught, classes, t, add);
        break;
      case LossKind::squared_error:
        sum += values_loss(own, taught, classes, add);
        break;
      case LossKind::binary_cross_entropy:
        sum += flags_loss(own, taught, classes, t, add);
        break;
    }
  }
  if (outputs.loss) *outputs.loss += sum / scale.count;
}

template void add_distillation<float>(const float*, const float*, int64_t, int64_t,
                                      const Distillation&, LossScale, const LossOutputs<float>&);
template void add_distillation<double>(const double*, const double*, int64_t, int64_t,
                                       const Distillation&, LossScale, const LossOutputs<double>&);

}  // namespace hone::kernels
