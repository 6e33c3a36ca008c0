#include "optim/schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hone::optim {
namespace {

// Right-hand sides are those of transformers' get_*_schedule_with_warmup.
TEST(Schedule, FollowsTransformers) {
  const Schedule linear{ScheduleKind::linear, 2, 10};
  EXPECT_DOUBLE_EQ(linear.factor(0), 0);
  EXPECT_DOUBLE_EQ(linear.factor(1), 0.5);
  EXPECT_DOUBLE_EQ(linear.factor(2), 1);
  EXPECT_DOUBLE_EQ(linear.factor(6), 0.5);
  EXPECT_DOUBLE_EQ(linear.factor(10), 0);
  EXPECT_DOUBLE_EQ(linear.factor(11), 0);
  const Schedule cosine{ScheduleKind::cosine, 2, 10};
  EXPECT_DOUBLE_EQ(cosine.factor(1), 0.5);
  EXPECT_DOUBLE_EQ(cosine.factor(2), 1);
  EXPECT_NEAR(cosine.factor(4), 0.8535533905932737, 1e-15);
  EXPECT_NEAR(cosine.factor(10), 0, 1e-15);
  const Schedule constant{ScheduleKind::constant, 4, 10};
  EXPECT_DOUBLE_EQ(constant.factor(1), 0.25);
  EXPECT_DOUBLE_EQ(constant.factor(9), 1);
  EXPECT_DOUBLE_EQ((Schedule{ScheduleKind::linear, 0, 1}.factor(0)), 1);
}

// Right-hand sides are those of torch.optim.lr_scheduler's StepLR and OneCycleLR.
TEST(Schedule, FollowsPyTorch) {
  const Schedule step{ScheduleKind::step, 0, 10, 3, 0.5};
  EXPECT_DOUBLE_EQ(step.factor(2), 1);
  EXPECT_DOUBLE_EQ(step.factor(3), 0.5);
  EXPECT_DOUBLE_EQ(step.factor(9), 0.125);
  const Schedule late{ScheduleKind::step, 2, 10, 3, 0.5};
  EXPECT_DOUBLE_EQ(late.factor(1), 0.5);
  EXPECT_DOUBLE_EQ(late.factor(4), 1);
  EXPECT_DOUBLE_EQ(late.factor(5), 0.5);
  const Schedule cycle{ScheduleKind::one_cycle, 0, 10};
  EXPECT_NEAR(cycle.factor(0), 0.04, 1e-15);
  EXPECT_DOUBLE_EQ(cycle.factor(1), 0.52);
  EXPECT_DOUBLE_EQ(cycle.factor(2), 1);
  EXPECT_NEAR(cycle.factor(5), 0.6112620219362893, 1e-15);
  EXPECT_NEAR(cycle.factor(9), 4e-6, 1e-15);
  const Schedule longer{ScheduleKind::one_cycle, 5, 10};
  EXPECT_DOUBLE_EQ(longer.factor(4), 1);
  EXPECT_LT(longer.factor(3), 1);
}

TEST(Schedule, NamesAreTrainers) {
  EXPECT_EQ(parse_schedule("one_cycle"), ScheduleKind::one_cycle);
  EXPECT_EQ(parse_schedule("cosine"), ScheduleKind::cosine);
  EXPECT_THROW(parse_schedule("polynomial"), Error);
}

}  // namespace
}  // namespace hone::optim
