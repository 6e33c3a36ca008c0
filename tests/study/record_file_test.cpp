#include "study/record_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "report/records.h"
#include "study/run_study.h"

namespace hone::study {
namespace {

/// A folder of one test's own, gone at the end.
class StudyFolder {
 public:
  StudyFolder()
      : path_(testing::TempDir() + "study-" + std::to_string(::getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(path_);
  }
  ~StudyFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string records() const { return path_ + "/records.jsonl"; }
  void append(const std::string& text) const { std::ofstream(records(), std::ios::app) << text; }

 private:
  std::string path_;
};

Case echo_case(int64_t size) {
  return {.fields = {{"size", size}},
          .commands = {{"train", std::string(kRunFolder), std::string(kRunSeed)}},
          .read = [](const RunOutputs& outputs, const StudySettings&, Readings& readings) {
            readings.metrics["seconds"] = std::stod(outputs.results.back().out);
          }};
}

std::vector<Case> three_cases(const StudySettings&) {
  std::vector<Case> cases = {echo_case(1), echo_case(2), echo_case(4)};
  cases[2].missing = "two cores";
  return cases;
}

/// Counts the runs; a run with `fail_at` as its number throws, as a kill would end it.
struct FakeRuns {
  int done = 0;
  int fail_at = -1;
  std::vector<Words> words = {};

  StudyRun run(int64_t repeats) {
    return {.repeats = repeats, .version = "hone test", .run = [this](const Words& given) {
              if (done == fail_at) throw std::runtime_error("killed");
              words.push_back(given);
              return ChildResult{0, std::to_string(++done), ""};
            }};
  }
};

const Study kEcho = {"echo", "nothing", three_cases};

std::vector<report::StudyRuns> run_echo(const StudyFolder& folder, FakeRuns& fake,
                                        int64_t repeats = 3, const StudySettings& settings = {}) {
  RecordFile records(folder.records());
  run_study(kEcho, settings, fake.run(repeats), folder.path() + "/running", records);
  return report::read_records({folder.records()});
}

TEST(RunStudy, RecordsEveryRepeatAndWhatIsMissingOnce) {
  const StudyFolder folder;
  FakeRuns fake;
  const auto studies = run_echo(folder, fake);
  EXPECT_EQ(fake.done, 6);
  ASSERT_EQ(studies.size(), 1U);
  ASSERT_EQ(studies[0].cases.size(), 3U);
  size_t measured = 0;
  for (const report::CaseRuns& runs : studies[0].cases) {
    if (runs.text("size") == "4") {
      EXPECT_EQ(runs.status, "not available: two cores");
      continue;
    }
    EXPECT_EQ(runs.spread("seconds").count, 3U);
    ++measured;
  }
  EXPECT_EQ(measured, 2U);
  EXPECT_NE(fake.words[0][1], std::string(kRunFolder));
  EXPECT_EQ(fake.words[0][2], "42");
  EXPECT_EQ(fake.words.back()[2], "44") << "repeats differ in their seed";
  const std::string text = read_file(folder.records());
  EXPECT_NE(text.find("\"command\":\"hone train RUN 42\""), std::string::npos) << text;
  EXPECT_FALSE(folder_exists(folder.path() + "/running/run-0"));
}

TEST(RunStudy, GoesOnWhereItWasKilled) {
  const StudyFolder folder;
  FakeRuns killed{.fail_at = 4};
  EXPECT_THROW(run_echo(folder, killed), std::runtime_error);
  FakeRuns again;
  const auto studies = run_echo(folder, again);
  EXPECT_EQ(again.done, 2) << "four of six runs have their records";
  EXPECT_EQ(studies[0].cases[0].spread("seconds").count +
                studies[0].cases[1].spread("seconds").count +
                studies[0].cases[2].spread("seconds").count,
            6U);
  FakeRuns none;
  run_echo(folder, none);
  EXPECT_EQ(none.done, 0);
}

TEST(RunStudy, RecordsOfOtherSettingsAreNotMixedIn) {
  const StudyFolder folder;
  FakeRuns fake;
  run_echo(folder, fake);
  StudySettings other;
  other.seed = 7;
  EXPECT_THROW(run_echo(folder, fake, 3, other), Error);
}

TEST(RunStudy, WhatFailsIsARecordWithItsReason) {
  const StudyFolder folder;
  RecordFile records(folder.records());
  StudyRun how{.repeats = 1, .version = "", .run = [](const Words& words) {
                 const bool refused = words[1].ends_with("run-0");
                 return ChildResult{refused ? 2 : 1, "", "note\nhone: no such thing\n"};
               }};
  run_study(kEcho, {}, how, folder.path() + "/running", records);
  const auto studies = report::read_records({folder.records()});
  std::vector<std::string> told;
  for (const report::CaseRuns& runs : studies[0].cases) told.push_back(runs.status);
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, (std::vector<std::string>{"failed: no such thing", "not available: no such thing",
                                            "not available: two cores"}));
}

TEST(RunStudy, OrderChangesBetweenRepeats) {
  std::vector<Case> cases;
  for (int64_t i = 0; i < 8; ++i) cases.push_back(echo_case(i));
  const std::vector<Turn> turns = turns_of(cases, 3, 42);
  ASSERT_EQ(turns.size(), 24U);
  EXPECT_EQ(turns, turns_of(cases, 3, 42));
  std::vector<std::vector<size_t>> orders(3);
  for (const Turn& turn : turns) orders[static_cast<size_t>(turn.repeat)].push_back(turn.which);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  for (std::vector<size_t>& order : orders) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST(RecordFile, DropsALastLineThatWasCut) {
  const StudyFolder folder;
  {
    RecordFile records(folder.records());
    records.append({.study = "s", .fields = {{"k", 1}}, .metrics = {{"ms", 1}}});
  }
  folder.append("{\"study\":\"s\",\"met");
  RecordFile records(folder.records());
  EXPECT_NE(records.dropped().find("cut off"), std::string::npos);
  records.append({.study = "s", .fields = {{"k", 2}}, .metrics = {{"ms", 2}}});
  EXPECT_EQ(report::read_records({folder.records()})[0].cases.size(), 2U);
}

TEST(RecordFile, RefusesWhatItCannotKnow) {
  const StudyFolder folder;
  folder.append("{\"format\":2,\"study\":\"s\",\"metrics\":{}}\n");
  try {
    RecordFile records(folder.records());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 1: format: 2"), std::string::npos);
  }
}

TEST(RecordFile, RecordsOfAnotherMachineAreNotThisOnes) {
  const StudyFolder folder;
  const Record record{.study = "s", .machine = {{"processor", "A"}, {"memory_bytes", 1}}};
  RecordFile records(folder.records());
  records.append(record);
  Record other = record;
  other.machine["memory_bytes"] = 2;
  EXPECT_TRUE(records.has(other));
  other.machine["processor"] = "B";
  EXPECT_FALSE(records.has(other));
}

}  // namespace
}  // namespace hone::study
