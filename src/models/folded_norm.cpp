#include "models/folded_norm.h"

#include <cmath>

#include "ops/batch_norm.h"

namespace hone::models {
namespace {

std::vector<float> values_of(const io::Weights& weights, const io::TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  weights.read(tensor, 0, tensor.elements, values.data());
  return values;
}

std::vector<double> factors_of(const io::Weights& weights, const NormTensors& norm) {
  const std::vector<float> scale = values_of(weights, *norm.weight);
  const std::vector<float> variance = values_of(weights, *norm.running_var);
  std::vector<double> factors(scale.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    factors[i] = scale[i] / std::sqrt(double{variance[i]} + ops::BatchNormParameters{}.eps);
  }
  return factors;
}

}  // namespace

void RowTransform::apply(int64_t first, int64_t count, int64_t width, float* rows) const {
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(first + i);
    for (int64_t k = 0; k < width; ++k) {
      float& value = rows[i * width + k];
      if (!factors.empty()) value *= factors[row];
      if (!terms.empty()) value += terms[row];
    }
  }
}

RowTransform fold_into_rows(const io::Weights& weights, const NormTensors& norm) {
  const std::vector<double> factors = factors_of(weights, norm);
  return {{factors.begin(), factors.end()}, {}};
}

RowTransform fold_into_bias(const io::Weights& weights, const NormTensors& norm) {
  const std::vector<double> factors = factors_of(weights, norm);
  RowTransform transform{{}, values_of(weights, *norm.running_mean)};
  for (size_t i = 0; i < factors.size(); ++i) {
    transform.terms[i] = static_cast<float>(-factors[i] * transform.terms[i]);
  }
  return transform;
}

}  // namespace hone::models
