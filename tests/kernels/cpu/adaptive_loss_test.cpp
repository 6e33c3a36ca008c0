// What adaptive exits learn: its value by hand, and its slopes against finite differences.
#include "kernels/cpu/adaptive_loss.h"

#include <cmath>

#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {
namespace {

struct ThreeLayers {
  static constexpr int64_t kSamples = 4, kClasses = 3;
  ThreeLayers() {
    for (const int64_t width : {kClasses + 1, kClasses + 1, kClasses}) {
      const auto drawn = random_values<float>(kSamples * width, uint32_t(logits.size()) + 1);
      logits.emplace_back(drawn.begin(), drawn.end());
      slopes.emplace_back(drawn.size());
    }
  }
  double loss(double cost_weight, LossScale scale = {4, 1}, std::span<const double> shares = {}) {
    const std::vector<const double*> from = {logits[0].data(), logits[1].data(), logits[2].data()};
    const std::vector<double*> to = {slopes[0].data(), slopes[1].data(), slopes[2].data()};
    double sum = 0;
    adaptive_loss<double>({from, labels.data(), kSamples, kClasses}, {cost_weight, shares}, scale,
                          &sum, to);
    return sum;
  }
  std::vector<int32_t> labels = {0, 2, 1, 1};
  std::vector<std::vector<double>> logits, slopes;
};

TEST(AdaptiveLossOf, SlopesAreThoseOfItsValue) {
  ThreeLayers layers;
  layers.loss(0.7);
  const auto slopes = layers.slopes;
  for (size_t layer = 0; layer < 3; ++layer) {
    for (size_t i = 0; i < slopes[layer].size(); ++i) {
      constexpr double kStep = 1e-6;
      double& x = layers.logits[layer][i];
      x += kStep;
      const double above = layers.loss(0.7);
      x -= 2 * kStep;
      const double below = layers.loss(0.7);
      x += kStep;
      EXPECT_NEAR(slopes[layer][i], (above - below) / (2 * kStep), 1e-8) << layer << " " << i;
    }
  }
  layers.loss(0.7, {4, 8});
  EXPECT_NEAR(layers.slopes[1][2], 8 * slopes[1][2], 1e-12);
}

TEST(AdaptiveLossOf, CountsTheLayersThatAreExpectedToRun) {
  ThreeLayers layers;
  for (auto& row : layers.logits) std::fill(row.begin(), row.end(), 0.);
  // All give log 3 and every exit is left with probability 1/2, right or not.
  EXPECT_NEAR(layers.loss(0), std::log(3.) + std::log(2.), 1e-12);
  const double cost = 0.5 * 1 / 3 + 0.25 * 2 / 3 + 0.25;
  EXPECT_NEAR(layers.loss(2), std::log(3.) + std::log(2.) + 2 * cost, 1e-12);
  const double shares[] = {0.1, 0.4, 1};
  EXPECT_NEAR(layers.loss(1, {4, 1}, shares), std::log(6.) + 0.05 + 0.1 + 0.25, 1e-12);
  // Sure of an exit whose answer is right: nothing but the labels' part is left, and one layer.
  layers.labels = {0, 0, 0, 0};
  for (size_t row = 0; row < 4; ++row) {
    layers.logits[0][row * 4 + 3] = layers.logits[1][row * 4 + 3] = 40;
  }
  EXPECT_NEAR(layers.loss(2), std::log(3.) + 2. / 3, 1e-12);
}

}  // namespace
}  // namespace hone::kernels
