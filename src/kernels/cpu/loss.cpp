#include "kernels/cpu/loss.h"

#include <algorithm>
#include <cmath>

namespace hone::kernels {
namespace {

/// Adds up the samples' losses and writes what is wanted of them.
template <typename T>
class LossSum {
 public:
  LossSum(LossScale scale, const LossOutputs<T>& outputs) : scale_(scale), outputs_(outputs) {}
  ~LossSum() {
    if (outputs_.loss) *outputs_.loss = sum_ / scale_.count;
  }
  LossSum(const LossSum&) = delete;
  LossSum& operator=(const LossSum&) = delete;

  void add(int64_t sample, double loss) {
    if (outputs_.losses) outputs_.losses[sample] = static_cast<T>(loss);
    sum_ += loss;
  }
  /// Takes the `slope` of the sample's loss at element i of all logits.
  void gradient(int64_t i, double slope) {
    if (outputs_.dlogits) {
      outputs_.dlogits[i] = static_cast<T>(slope * (scale_.scale / scale_.count));
    }
  }

 private:
  LossScale scale_;
  LossOutputs<T> outputs_;
  double sum_ = 0.0;
};

template <typename T>
double weight_of(const T* weights, int64_t index) {
  return weights ? static_cast<double>(weights[index]) : 1.0;
}

template <typename T>
double log_sum_exp(const T* logits, int64_t count) {
  const double largest = *std::max_element(logits, logits + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(logits[i] - largest);
  return largest + std::log(sum);
}

}  // namespace

template <typename T>
double sum_of_weights(const CrossEntropy<T>& options, const int32_t* labels, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += weight_of(options.class_weights, labels[i]);
  return sum;
}

template <typename T>
void cross_entropy(const T* logits, const int32_t* labels, int64_t n, int64_t classes,
                   const CrossEntropy<T>& options, LossScale scale, const LossOutputs<T>& outputs) {
  LossSum<T> sum(scale, outputs);
  const double spread = static_cast<double>(options.label_smoothing) / static_cast<double>(classes);
  double weights = 0;
  for (int64_t c = 0; c < classes; ++c) weights += weight_of(options.class_weights, c);
  for (int64_t i = 0; i < n; ++i) {
    const T* row = logits + i * classes;
    const double log_sum = log_sum_exp(row, classes);
    const double target =
        (1.0 - options.label_smoothing) * weight_of(options.class_weights, labels[i]);
    double loss = target * (log_sum - row[labels[i]]);
    for (int64_t c = 0; c < classes; ++c) {
      const double smooth = spread * weight_of(options.class_weights, c);
      loss += smooth * (log_sum - row[c]);
      const double p = std::exp(row[c] - log_sum);
      sum.gradient(i * classes + c,
                   p * (target + spread * weights) - smooth - (c == labels[i] ? target : 0.0));
    }
    sum.add(i, loss);
  }
}

template <typename T>
void soft_cross_entropy(const T* logits, const T* targets, int64_t n, int64_t classes,
                        T label_smoothing, LossScale scale, const LossOutputs<T>& outputs) {
  LossSum<T> sum(scale, outputs);
  const double kept = 1.0 - static_cast<double>(label_smoothing);
  const double spread = static_cast<double>(label_smoothing) / static_cast<double>(classes);
  for (int64_t i = 0; i < n; ++i) {
    const T* row = logits + i * classes;
    const double log_sum = log_sum_exp(row, classes);
    double shares = 0, loss = 0;
    for (int64_t c = 0; c < classes; ++c) shares += targets[i * classes + c];
    for (int64_t c = 0; c < classes; ++c) {
      const double target = kept * targets[i * classes + c] + spread * shares;
      loss += target * (log_sum - row[c]);
      sum.gradient(i * classes + c, shares * std::exp(row[c] - log_sum) - target);
    }
    sum.add(i, loss);
  }
}

template <typename T>
void squared_error(const T* predictions, const T* targets, int64_t n, int64_t width,
                   LossScale scale, const LossOutputs<T>& outputs) {
  LossSum<T> sum(scale, outputs);
  for (int64_t i = 0; i < n; ++i) {
    double loss = 0;
    for (int64_t c = i * width; c < (i + 1) * width; ++c) {
      const double error = static_cast<double>(predictions[c]) - static_cast<double>(targets[c]);
      loss += error * error;
      sum.gradient(c, 2.0 * error / static_cast<double>(width));
    }
    sum.add(i, loss / static_cast<double>(width));
  }
}

template <typename T>
void binary_cross_entropy(const T* logits, const T* targets, int64_t n, int64_t classes,
                          const T* positive_weights, LossScale scale,
                          const LossOutputs<T>& outputs) {
  LossSum<T> sum(scale, outputs);
  for (int64_t i = 0; i < n; ++i) {
    double loss = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double x = logits[i * classes + c], t = targets[i * classes + c];
      const double weight = 1.0 + (weight_of(positive_weights, c) - 1.0) * t;
      // softplus is log(1 + e^-x) and slope its negative slope; neither overflows on either side.
      const double small = std::exp(-std::abs(x));
      const double softplus = std::log1p(small) + std::max(-x, 0.0);
      const double slope = (x < 0 ? 1.0 : small) / (1.0 + small);
      loss += (1.0 - t) * x + weight * softplus;
      sum.gradient(i * classes + c, (1.0 - t - weight * slope) / static_cast<double>(classes));
    }
    sum.add(i, loss / static_cast<double>(classes));
  }
}

template double sum_of_weights(const CrossEntropy<float>&, const int32_t*, int64_t);
template double sum_of_weights(const CrossEntropy<double>&, const int32_t*, int64_t);
template void cross_entropy(const float*, const int32_t*, int64_t, int64_t,
                            const CrossEntropy<float>&, LossScale, const LossOutputs<float>&);
template void cross_entropy(const double*, const int32_t*, int64_t, int64_t,
                            const CrossEntropy<double>&, LossScale, const LossOutputs<double>&);
template void soft_cross_entropy(const float*, const float*, int64_t, int64_t, float, LossScale,
                                 const LossOutputs<float>&);
template void soft_cross_entropy(const double*, const double*, int64_t, int64_t, double, LossScale,
                                 const LossOutputs<double>&);
template void squared_error(const float*, const float*, int64_t, int64_t, LossScale,
                            const LossOutputs<float>&);
template void squared_error(const double*, const double*, int64_t, int64_t, LossScale,
                            const LossOutputs<double>&);
template void binary_cross_entropy(const float*, const float*, int64_t, int64_t, const float*,
                                   LossScale, const LossOutputs<float>&);
template void binary_cross_entropy(const double*, const double*, int64_t, int64_t, const double*,
                                   LossScale, const LossOutputs<double>&);

}  // namespace hone::kernels
