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

TEST(Schedule, NamesAreTrainers) {
  EXPECT_EQ(parse_schedule("cosine"), ScheduleKind::cosine);
  EXPECT_THROW(parse_schedule("polynomial"), Error);
}

}  // namespace
}  // namespace hone::optim
