#include "study/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "study/readings.h"

namespace hone::study {
namespace {

/// Gives what a machine of known latency, bandwidth and overlap would have measured.
std::vector<MeasuredStep> made_steps(const StepModel& truth, const std::vector<double>& ranks) {
  std::vector<MeasuredStep> steps;
  for (const double each : ranks) {
    const double step = truth.step_ms(each);
    const double busy = each > 1 ? truth.communication_ms(each) : 0;
    steps.push_back({each, step, busy, step - truth.compute_ms});
  }
  return steps;
}

const StepModel kTruth = {
    .compute_ms = 100, .latency_ms = 0.5, .transfer_ms = 60, .hidden_ms = 30, .exposed_share = 0.1};

TEST(Simulate, FindsLatencyAndBandwidthAndPredictsWhatWasNotMeasured) {
  const auto steps = made_steps(kTruth, {1, 2, 4, 8});
  const Simulation made = simulate(steps);
  EXPECT_NEAR(made.model.latency_ms, 0.5, 1e-9);
  EXPECT_NEAR(made.model.transfer_ms, 60, 1e-9);
  ASSERT_EQ(made.checked.size(), 4U);
  for (const Prediction& each : made.checked) EXPECT_LT(std::abs(each.off()), 0.02) << each.ranks;
  ASSERT_FALSE(made.beyond.empty());
  EXPECT_EQ(made.beyond.back().ranks, 1024);
  EXPECT_NEAR(made.beyond.back().modelled_ms, kTruth.step_ms(1024), 0.02 * kTruth.step_ms(1024));
}

TEST(Simulate, TellsNothingBeyondWhereAMeasuredRunIsMissed) {
  auto steps = made_steps(kTruth, {1, 2, 4, 8});
  steps[3].step_ms *= 1.3;  // eight ranks share two cores
  const Simulation made = simulate(steps);
  EXPECT_TRUE(made.beyond.empty());
  const report::Section section = section_of(made);
  EXPECT_EQ(section.tables.size(), 1U);
  EXPECT_NE(section.text.find("nothing beyond is told"), std::string::npos);
}

TEST(Simulate, WantsRunsOfOneTwoFourAndEightRanks) {
  EXPECT_THROW(simulate(made_steps(kTruth, {1, 2, 4})), Error);
  EXPECT_THROW(simulate(made_steps(kTruth, {2, 4, 8})), Error);
  EXPECT_THROW(simulate({}), Error);
}

TEST(Simulate, EveryPictureAndTableSaysModelled) {
  const report::Section section = section_of(simulate(made_steps(kTruth, {1, 2, 4, 8})));
  EXPECT_NE(section.heading.find("modelled"), std::string::npos);
  for (const report::DataTable& table : section.tables) {
    EXPECT_NE(table.title.find("modelled"), std::string::npos);
  }
  for (const report::Chart& chart : section.charts) {
    EXPECT_NE(report::text_of(chart).title.find("modelled"), std::string::npos);
  }
}

TEST(Simulate, ReadsRecordsOfOneMachineAndModel) {
  std::vector<report::StudyRuns> studies;
  const auto add = [&](const char* machine, double ranks, double fraction) {
    report::add_record({{"study", "scale"},
                        {"case", {{"ranks", ranks}, {"fraction", fraction}}},
                        {"machine", {{"processor", machine}}},
                        {"metrics", {{"step_ms", 10 * ranks}, {"communication_ms", 1}}}},
                       "r", studies);
  };
  add("A", 2, 1);
  add("A", 1, 1);
  add("A", 1, 0.5);
  const auto steps = measured_steps(studies);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].ranks, 1);
  EXPECT_EQ(steps[1].step_ms, 20);
  add("B", 4, 1);
  EXPECT_THROW(measured_steps(studies), Error);
}

TEST(Readings, TimeToALossIsThatOfItsMeanOverFiveLines) {
  const std::vector<double> seconds = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(time_to_loss(seconds, {1, 1, 1, 0, 1, 0, 0}, 0.4), 7);
  EXPECT_EQ(time_to_loss(seconds, {0.3, 1, 1, 1, 1, 1, 1}, 0.4), 1);
  EXPECT_TRUE(std::isnan(time_to_loss(seconds, {1, 1, 1, 1, 1, 1, 1}, 0.4)));
  EXPECT_TRUE(std::isnan(time_to_loss({}, {}, 0.4)));
}

}  // namespace
}  // namespace hone::study
