#include "train/weight_average.h"

#include <gtest/gtest.h>

namespace hone::train {
namespace {

TEST(WeightAverage, FollowsTheWeightsByTheDecay) {
  nn::Parameters parameters{Target{}};
  const Weight vector = parameters.vector({"bias"}, 70000);
  const Weight state = parameters.state("running_mean", 3, 0);
  parameters.allocate();
  auto* weights = static_cast<float*>(parameters.data(vector));
  auto* mean = static_cast<float*>(parameters.data(state));
  std::fill_n(weights, 70000, 1.f);
  std::fill_n(mean, 3, 5.f);
  ThreadPool pool(2);
  WeightAverage average(parameters, 0.5);
  EXPECT_EQ(average.data(vector)[69999], 1);
  std::fill_n(weights, 70000, 3.f);
  mean[1] = 6;
  // The first steps' decay is 2/11, 3/12, ...; from the eighth step on it is 0.5.
  double expected = 1;
  for (int64_t step = 1; step <= 20; ++step) {
    average.update(step, pool);
    const double decay = std::min(0.5, (1. + step) / (10. + step));
    expected = decay * expected + (1 - decay) * 3;
    ASSERT_NEAR(average.data(vector)[69999], expected, 1e-6);
  }
  EXPECT_NEAR(average.data(state)[1], 6, 1e-4);
  EXPECT_EQ(average.data(state)[0], 5) << "what does not change stays as it is to the bit";
  const float before = average.data(vector)[5];
  average.exchange(pool);
  EXPECT_EQ(weights[5], before);
  EXPECT_EQ(average.data(vector)[5], 3);
  EXPECT_TRUE(parameters.stale()) << "shadows are made anew";
}

}  // namespace
}  // namespace hone::train
