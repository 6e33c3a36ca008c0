#include "kernels/cpu/loss.h"

#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

/// Values by torch 2.13 in double: F.cross_entropy, F.mse_loss, F.binary_cross_entropy_with_logits
/// of the logits below.
const std::vector<double> kLogits = {0.5, -1.25, 2.0, 3.0, 0.0, -0.5, -2.0, 1.5, 0.75};
const std::vector<int32_t> kLabels = {2, 1, 0};
const std::vector<double> kTargets = {1, 0, 1, 0, 1, 0.25, 1, 1, 0};
const std::vector<double> kWeights = {0.5, 2.0, 1.25};

template <typename T>
struct Values {
  std::vector<T> losses, dlogits;
  double loss = 0;
};

template <typename T, typename Function>
Values<T> losses(int64_t n, int64_t classes, const Function& function) {
  Values<T> values{std::vector<T>(n), std::vector<T>(n * classes)};
  function(LossOutputs<T>{values.losses.data(), &values.loss, values.dlogits.data()});
  return values;
}

TEST(Loss, AgreesWithTorch) {
  const CrossEntropy<double> plain, weighted{kWeights.data(), 0.0}, both{kWeights.data(), 0.1};
  const auto cross = [&](const CrossEntropy<double>& options) {
    return losses<double>(3, 3,
                          [&](const LossOutputs<double>& out) {
                            const double count = sum_of_weights(options, kLabels.data(), 3);
                            cross_entropy(kLogits.data(), kLabels.data(), 3, 3, options, {count},
                                          out);
                          })
        .loss;
  };
  EXPECT_NEAR(cross(plain), 2.405580522450911, 1e-12);
  EXPECT_NEAR(cross(weighted), 2.2395352634175416, 1e-12);
  EXPECT_NEAR(cross(both), 2.2200286782097676, 1e-12);
  const std::vector<double> shares = {0.25, 0, 0.75, 0, 1, 0, 0.5, 0.125, 0.375};
  const auto soft = [&](double smoothing) {
    return losses<double>(3, 3,
                          [&](const LossOutputs<double>& out) {
                            soft_cross_entropy(kLogits.data(), shares.data(), 3, 3, smoothing, {3},
                                               out);
                          })
        .loss;
  };
  EXPECT_NEAR(soft(0), 2.0409971891175775, 1e-12);
  EXPECT_NEAR(soft(0.1), 2.033011078006467, 1e-12);
  const auto mse = losses<double>(3, 3, [&](const LossOutputs<double>& out) {
    squared_error(kLogits.data(), kTargets.data(), 3, 3, {3}, out);
  });
  EXPECT_NEAR(mse.loss, 2.576388888888889, 1e-12);
  const auto binary = [&](const double* weights) {
    return losses<double>(3, 3,
                          [&](const LossOutputs<double>& out) {
                            binary_cross_entropy(kLogits.data(), kTargets.data(), 3, 3, weights,
                                                 {3}, out);
                          })
        .loss;
  };
  EXPECT_NEAR(binary(nullptr), 0.9621064320025412, 1e-12);
  EXPECT_NEAR(binary(kWeights.data()), 0.9272919625806699, 1e-12);
}

/// One of the losses on n samples of so many classes.
template <typename T>
void compute(int kind, const std::vector<T>& logits, int64_t n, int64_t classes, LossScale scale,
             const LossOutputs<T>& out) {
  const auto random = random_values<float>(classes + n * classes, 9);
  std::vector<T> weights(classes), targets(n * classes);
  std::vector<int32_t> labels(n);
  for (int64_t c = 0; c < classes; ++c) weights[c] = std::abs(random[c]) + 0.1f;
  for (int64_t i = 0; i < n * classes; ++i) targets[i] = random[classes + i] > 0 ? 1.0f : 0.25f;
  for (int64_t i = 0; i < n; ++i) labels[i] = static_cast<int32_t>(i * 7 % classes);
  if (kind == 0) cross_entropy(logits.data(), labels.data(), n, classes, {}, scale, out);
  if (kind == 1) {
    cross_entropy(logits.data(), labels.data(), n, classes, {weights.data(), T(0.125)}, scale, out);
  }
  if (kind == 4) {
    for (T& share : targets) share /= static_cast<T>(classes);
    soft_cross_entropy(logits.data(), targets.data(), n, classes, T(0.125), scale, out);
  }
  if (kind == 2) squared_error(logits.data(), targets.data(), n, classes, scale, out);
  if (kind == 3) {
    binary_cross_entropy(logits.data(), targets.data(), n, classes, weights.data(), scale, out);
  }
}

TEST(Loss, GradientsAreThoseOfFiniteDifferencesAndF32IsClose) {
  for (int kind = 0; kind < 5; ++kind) {
    for (const auto& size :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 2}, {5, 3}, {3, 31}, {32, 2}}) {
      const int64_t n = size.first, classes = size.second;
      SCOPED_TRACE(std::to_string(kind) + ": " + std::to_string(n) + " x " +
                   std::to_string(classes));
      const LossScale scale{double(n) + 3.5, 8.0};
      const std::vector<float> narrow = random_values<float>(n * classes, 1, 2.0f);
      std::vector<double> logits(narrow.begin(), narrow.end());
      const auto at = [&](const LossOutputs<double>& out) {
        compute(kind, logits, n, classes, scale, out);
      };
      const Values<double> values = losses<double>(n, classes, at);
      EXPECT_NEAR(values.loss,
                  std::accumulate(values.losses.begin(), values.losses.end(), 0.0) / scale.count,
                  1e-12);
      expect_gradient(logits, values.dlogits, [&] {
        double loss;
        at({.loss = &loss});
        return scale.scale * loss;
      });
      const auto f32 = losses<float>(n, classes, [&](const LossOutputs<float>& out) {
        compute(kind, narrow, n, classes, scale, out);
      });
      EXPECT_NEAR(f32.loss, values.loss, 1e-6 * (1 + values.loss));
      expect_close(f32.losses, values.losses, 3e-6);
      expect_close(f32.dlogits, values.dlogits, 1e-6);
    }
  }
}

TEST(Loss, PartsOfABatchAddUp) {
  const std::vector<float> logits = random_values<float>(10 * 4, 1);
  std::vector<int32_t> labels = {0, 3, 2, 1, 0, 3, 2, 2, 1, 0};
  std::vector<float> whole(40), parts(40);
  double loss = 0, first = 0, second = 0;
  cross_entropy(logits.data(), labels.data(), 10, 4, {}, {10}, {nullptr, &loss, whole.data()});
  cross_entropy(logits.data(), labels.data(), 7, 4, {}, {10}, {nullptr, &first, parts.data()});
  cross_entropy(logits.data() + 28, labels.data() + 7, 3, 4, {}, {10},
                {nullptr, &second, parts.data() + 28});
  EXPECT_NEAR(first + second, loss, 1e-15);
  EXPECT_EQ(parts, whole);
}

TEST(Loss, LargeLogitsStayFinite) {
  const std::vector<float> logits = {1e4f, -1e4f};
  const std::vector<float> targets = {0.0f, 1.0f};
  for (const int32_t label : {0, 1}) {
    double loss = -1;
    std::vector<float> gradient(2);
    cross_entropy(logits.data(), &label, 1, 2, {}, {1}, {nullptr, &loss, gradient.data()});
    EXPECT_EQ(loss, label == 0 ? 0.0 : 2e4);
    EXPECT_EQ(gradient[0], label == 0 ? 0.0f : 1.0f);
    EXPECT_EQ(gradient[1], label == 0 ? 0.0f : -1.0f);
  }
  double loss = -1;
  std::vector<float> gradient(2);
  binary_cross_entropy<float>(logits.data(), targets.data(), 1, 2, nullptr, {1},
                              {nullptr, &loss, gradient.data()});
  EXPECT_EQ(loss, 1e4);
  EXPECT_EQ(gradient, (std::vector<float>{0.5f, -0.5f}));
  cross_entropy<float>(nullptr, nullptr, 0, 2, {}, {1}, {nullptr, &loss, nullptr});
  EXPECT_EQ(loss, 0.0);
}

}  // namespace
}  // namespace hone::kernels
