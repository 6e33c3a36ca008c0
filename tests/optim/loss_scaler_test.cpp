#include "optim/loss_scaler.h"

#include <gtest/gtest.h>

namespace hone::optim {
namespace {

TEST(LossScaler, StartsAsTorchsGradScaler) {
  EXPECT_EQ(LossScaler().scale(), 65536);
  EXPECT_EQ(LossScaler::kGrowthInterval, 2000);
}

TEST(LossScaler, IsHalvedByASkippedStepAndDoubledByGoodOnesInARow) {
  LossScaler scaler;
  scaler.update(true);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 16384);
  for (int64_t i = 0; i < LossScaler::kGrowthInterval - 1; ++i) scaler.update(false);
  EXPECT_EQ(scaler.scale(), 16384);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 32768);
  EXPECT_EQ(scaler.good_steps(), 0);
}

TEST(LossScaler, CountsGoodStepsFromTheLastBadOne) {
  LossScaler scaler(8, LossScaler::kGrowthInterval - 1);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 4);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 4);
  EXPECT_EQ(scaler.good_steps(), 1);
}

}  // namespace
}  // namespace hone::optim
