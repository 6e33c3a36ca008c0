#include "kernels/cpu/adaptive_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone::kernels {
namespace {

/// One layer's logits of one sample, and the slopes of its loss.
struct LayerRow {
  std::vector<double> slopes;  ///< by column
  double right = 1;            ///< the probability that the answer is right
};

/// Adds `weight` times the cross-entropy of the first `classes` columns to the slopes.
template <typename T>
double add_cross_entropy(const T* logits, int32_t label, int64_t classes, double weight,
                         std::vector<double>& slopes) {
  const double largest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - largest);
  const double log_sum = largest + std::log(sum);
  for (int64_t c = 0; c < classes; ++c) {
    slopes[static_cast<size_t>(c)] =
        weight * (std::exp(logits[c] - log_sum) - (c == label ? 1 : 0));
  }
  return weight * (log_sum - logits[label]);
}

/// Adds what an exit's last column asks for; sets its probability.
template <typename T>
double add_confidence(const T* logits, int32_t label, int64_t classes, double weight,
                      LayerRow& layer) {
  const double x = logits[classes];
  const bool is_right = std::max_element(logits, logits + classes) - logits == label;
  layer.right = 1 / (1 + std::exp(-x));
  layer.slopes[static_cast<size_t>(classes)] = weight * (layer.right - (is_right ? 1 : 0));
  const double softplus = std::log1p(std::exp(-std::abs(x))) + std::max(is_right ? -x : x, 0.);
  return weight * softplus;
}

/// Adds the expected share of the layers that run to the slopes of the last columns.
double add_cost(const LayerCosts& costs, int64_t classes, std::vector<LayerRow>& layers) {
  const auto count = static_cast<double>(layers.size());
  const auto cost = [&](size_t i) {
    return costs.shares.empty() ? static_cast<double>(i + 1) / count : costs.shares[i];
  };
  double later = cost(layers.size() - 1);  // the expected cost behind a layer that is not left
  std::vector<double> behind(layers.size());
  for (size_t i = layers.size() - 1; i-- > 0;) {
    behind[i] = later;
    later = layers[i].right * cost(i) + (1 - layers[i].right) * later;
  }
  double reached = 1;
  for (size_t i = 0; i + 1 < layers.size(); ++i) {
    const double right = layers[i].right;
    layers[i].slopes[static_cast<size_t>(classes)] +=
        costs.weight * reached * right * (1 - right) * (cost(i) - behind[i]);
    reached *= 1 - right;
  }
  return costs.weight * later;
}

}  // namespace

template <typename T>
void adaptive_loss(const AdaptiveExits<T>& exits, const LayerCosts& costs, LossScale scale,
                   double* loss, std::span<T* const> dlogits) {
  const int64_t classes = exits.classes;
  const size_t last = exits.logits.size() - 1;
  const auto count = static_cast<double>(last + 1);
  std::vector<LayerRow> layers(last + 1);
  double sum = 0;
  for (int64_t row = 0; row < exits.n; ++row) {
    const int32_t label = exits.labels[row];
    for (size_t i = 0; i <= last; ++i) {
      const int64_t width = classes + (i < last ? 1 : 0);
      const T* logits = exits.logits[i] + row * width;
      layers[i].slopes.assign(static_cast<size_t>(width), 0);
      const double weight = 2 * static_cast<double>(i + 1) / (count * (count + 1));
      sum += add_cross_entropy(logits, label, classes, weight, layers[i].slopes);
      if (i < last) sum += add_confidence(logits, label, classes, 1 / (count - 1), layers[i]);
    }
    sum += add_cost(costs, classes, layers);
    for (size_t i = 0; i <= last; ++i) {
      if (!dlogits[i]) continue;
      const std::vector<double>& slopes = layers[i].slopes;
      std::transform(
          slopes.begin(), slopes.end(), dlogits[i] + row * static_cast<int64_t>(slopes.size()),
          [&](double slope) { return static_cast<T>(slope * (scale.scale / scale.count)); });
    }
  }
  *loss = sum / scale.count;
}

template void adaptive_loss<float>(const AdaptiveExits<float>&, const LayerCosts&, LossScale,
                                   double*, std::span<float* const>);
template void adaptive_loss<double>(const AdaptiveExits<double>&, const LayerCosts&, LossScale,
                                    double*, std::span<double* const>);

}  // namespace hone::kernels
