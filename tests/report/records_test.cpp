#include "report/records.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "report/study_pictures.h"

namespace hone::report {
namespace {

Json timed(const char* name, double value, Json machine = Json::object()) {
  return {{"study", "loader"},
          {"case", {{"workers", name}}},
          {"machine", std::move(machine)},
          {"metrics", {{"seconds", value}}}};
}

StudyRuns study_of(const std::vector<Json>& records) {
  std::vector<StudyRuns> studies;
  for (const Json& record : records) add_record(record, "r", studies);
  return studies.at(0);
}

TEST(Records, SpreadIsMedianLeastAndLargest) {
  const Spread spread = spread_of({4, 1, NAN, 2, 10});
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.low, 1);
  EXPECT_EQ(spread.high, 10);
  EXPECT_EQ(spread.count, 4U);
  EXPECT_EQ(spread.text(), "3 (1 to 10)");
  EXPECT_EQ(spread_of({7}).text(), "7");
  EXPECT_EQ(spread_of({}).text(), "");
}

TEST(Records, NoWinnerWhereSpreadsOverlap) {
  std::vector<Json> records;
  for (const double value : {1., 2., 3.}) records.push_back(timed("a", value));
  for (const double value : {3.5, 4., 5.}) records.push_back(timed("b", value));
  EXPECT_EQ(verdict(study_of(records), "seconds", true),
            "seconds: workers a has the least, 2 (1 to 3).");
  EXPECT_EQ(verdict(study_of(records), "seconds", false),
            "seconds: workers b has the largest, 4 (3.5 to 5).");
  records.push_back(timed("b", 2.5));
  EXPECT_NE(verdict(study_of(records), "seconds", true).find("overlap"), std::string::npos);
}

TEST(Records, NoWinnerOfFewRepeatsOrSeveralMachines) {
  EXPECT_NE(verdict(study_of({timed("a", 1), timed("b", 9)}), "seconds", true).find("fewer than 3"),
            std::string::npos);
  std::vector<Json> records;
  for (int i = 0; i < 3; ++i) {
    records.push_back(timed("a", 1, {{"processor", "A"}}));
    records.push_back(timed("b", 2, {{"processor", "B"}}));
  }
  EXPECT_NE(verdict(study_of(records), "seconds", true).find("several machines"),
            std::string::npos);
  EXPECT_EQ(verdict(study_of({timed("a", 1)}), "seconds", true), "");
}

TEST(Records, PublishedFiguresStandBesideAndWinNothing) {
  std::vector<Json> records;
  for (int i = 0; i < 3; ++i) {
    records.push_back(timed("a", 2));
    records.push_back(timed("b", 3));
  }
  records.push_back(timed("a", 1, {{"published", "somebody"}}));
  const StudyRuns study = study_of(records);
  ASSERT_EQ(study.cases.size(), 3U);
  EXPECT_TRUE(study.cases[2].published);
  EXPECT_EQ(study.label(study.cases[2]), "workers a on published: somebody");
  EXPECT_NE(verdict(study, "seconds", true).find("workers a has the least, 2"), std::string::npos);
}

TEST(Records, DamagedCurvesAreRefused) {
  const auto with = [](const Json& curves) {
    Json record = timed("a", 1);
    record["curves"] = curves;
    return record;
  };
  const StudyRuns study =
      study_of({with({{"epoch", {1, 2}}, {"loss", {0.5, nullptr}}, {"seconds", {3, 4}}})});
  EXPECT_EQ(curves_of(study, "epoch", "loss").series.at(0).x, (std::vector<double>{1, 2}));
  EXPECT_THROW(study_of({with({{"epoch", {1}}, {"loss", {1, 2}}})}), Error);
  EXPECT_THROW(study_of({with({{"epoch", 1}})}), Error);
  EXPECT_THROW(study_of({with(1)}), Error);
}

Json scaled(double ranks, double fraction, double seconds) {
  return {{"study", "scale"},
          {"case", {{"ranks", ranks}, {"fraction", fraction}}},
          {"metrics", {{"seconds", seconds}}}};
}

TEST(Records, WeakScalingHasTheTimeOfOneRankAtEachSize) {
  const Section section =
      study_section(study_of({scaled(1, 1, 100), scaled(2, 1, 60), scaled(4, 1, 40),
                              scaled(1, 0.25, 20), scaled(1, 0.5, 45), scaled(2, 0.5, 30)}));
  const DataTable& table = section.tables.at(1);
  const std::vector<std::vector<std::string>> wanted = {
      {"strong", "1", "100", "100", "100", "1", "100"},
      {"strong", "2", "100", "100", "60", "1.667", "83.33"},
      {"strong", "4", "100", "100", "40", "2.5", "62.5"},
      {"weak", "1", "25", "20", "20", "1", "100"},
      {"weak", "2", "50", "45", "30", "1.5", "75"},
      {"weak", "4", "100", "100", "40", "2.5", "62.5"}};
  EXPECT_EQ(table.rows, wanted);
}

TEST(Records, SpeedUpIsOverOneDeviceInFp32OfTheSameBatch) {
  const auto trained = [](double devices, const char* precision, double batch, double rate) {
    return Json{{"study", "devices"},
                {"case",
                 {{"part", "training"},
                  {"model", "m"},
                  {"devices", devices},
                  {"precision", precision},
                  {"batch", batch}}},
                {"metrics", {{"samples_per_second", rate}}}};
  };
  const Section section = study_section(
      study_of({trained(1, "fp32", 8, 10), trained(2, "bf16", 8, 30), trained(1, "fp32", 16, 20),
                trained(2, "fp32", 16, 30), trained(2, "fp32", 32, 1)}));
  ASSERT_EQ(section.charts.size(), 1U);
  const auto& bars = std::get<BarChart>(section.charts[0]);
  EXPECT_EQ(bars.series[0].values, (std::vector<double>{1, 3, 1, 1.5}));
}

TEST(Records, StagesAreAPieAndSharesOfTheWhole) {
  const Section section = study_section(
      study_of({{{"study", "stages"},
                 {"case", {{"model", "m"}}},
                 {"metrics", {{"loading", 1}, {"forward", 2}, {"other", 1}, {"wall_s", 4}}}}}));
  ASSERT_EQ(section.charts.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<PieChart>(section.charts[0]));
  EXPECT_EQ(section.tables.at(1).rows[1],
            (std::vector<std::string>{"model m", "forward", "2", "50"}));
}

}  // namespace
}  // namespace hone::report
