// hone study through the program: tiny runs, in seconds.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/program.h"
#include "report/records.h"

namespace hone::cli {
namespace {

/// A study of trainings of a few steps.
Words tiny_study(const std::string& name, const std::string& output, const Words& more = {}) {
  Words words = {"study",       name, "--output",  output, "--repeats", "1",
                 "--max_steps", "2",  "--threads", "1",    "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"--", "--max_train_samples", "40", "--max_eval_samples", "20"});
  return words;
}

report::StudyRuns records_of(const std::string& output) {
  return report::read_records({output + "/records.jsonl"}).at(0);
}

TEST(StudyCommand, ListsAllStudies) {
  const Finished done = hone({"study"});
  EXPECT_EQ(done.code, 0);
  for (const char* name :
       {"stages", "loader", "precision", "lora", "checkpointing", "small", "explain", "devices",
        "scale", "convergence", "prepare", "balance", "money", "simulate"}) {
    EXPECT_NE(done.out.find(name), std::string::npos) << name;
  }
}

TEST(StudyCommand, MeasuresWritesRecordsAndAPageAndGoesOn) {
  const Scratch scratch;
  const Finished first = hone(tiny_study("precision", scratch / "p"));
  ASSERT_EQ(first.code, 0) << first.err;
  const report::StudyRuns study = records_of(scratch / "p");
  ASSERT_EQ(study.cases.size(), 3U);
  for (const report::CaseRuns& runs : study.cases) {
    EXPECT_EQ(runs.status, "ok") << runs.label();
    for (const char* metric : {"seconds", "metric", "memory_bytes", "peak_bytes", "step_ms"}) {
      EXPECT_EQ(runs.spread(metric).count, 1U) << metric;
    }
    ASSERT_EQ(runs.curves.size(), 1U);
    EXPECT_EQ(runs.curves[0].at("loss").size(), 2U);
  }
  const std::string page = read_file(scratch / "p/report.html");
  EXPECT_NE(page.find("precision: loss by epoch"), std::string::npos);
  EXPECT_NE(page.find("published: the reference study"), std::string::npos);
  EXPECT_TRUE(file_exists(scratch / "p/tables.tex"));
  EXPECT_FALSE(folder_exists(scratch / "p/.hone-study-runs"));

  const std::string before = read_file(scratch / "p/records.jsonl");
  ASSERT_EQ(hone(tiny_study("precision", scratch / "p")).code, 0);
  EXPECT_EQ(read_file(scratch / "p/records.jsonl"), before) << "nothing is run twice";
  ASSERT_EQ(hone({"report", scratch / "p", "--html", scratch / "page.html"}).code, 0);
  EXPECT_NE(read_file(scratch / "page.html").find("published"), std::string::npos);
}

TEST(StudyCommand, StagesOfAProfiledRunAreThoseOfItsProfile) {
  const Scratch scratch;
  const Finished done = hone(tiny_study("stages", scratch / "s"));
  ASSERT_EQ(done.code, 0) << done.err;
  const report::StudyRuns study = records_of(scratch / "s");
  ASSERT_EQ(study.cases.size(), 2U);
  for (const report::CaseRuns& runs : study.cases) {
    ASSERT_EQ(runs.status, "ok") << runs.label();
    double sum = 0;
    for (const char* stage : {"loading", "forward", "backward", "evaluation", "other"}) {
      sum += runs.spread(stage).median;
    }
    EXPECT_NEAR(sum, runs.spread("wall_s").median, 1e-6);
  }
}

TEST(StudyCommand, LoaderLoraCheckpointingAndScaleRun) {
  const Scratch scratch;
  const auto all_ok = [&](const std::string& name, const std::string& points, size_t cases,
                          const char* metric) {
    const Finished done = hone(tiny_study(name, scratch / name, {"--points", points}));
    ASSERT_EQ(done.code, 0) << done.err;
    const report::StudyRuns study = records_of(scratch / name);
    ASSERT_EQ(study.cases.size(), cases) << name;
    for (const report::CaseRuns& runs : study.cases) {
      EXPECT_EQ(runs.status, "ok") << name << " " << runs.label();
      EXPECT_EQ(runs.spread(metric).count, 1U) << name << " " << runs.label();
    }
  };
  all_ok("loader", "1", 1, "seconds");
  all_ok("lora", "4", 1, "memory_bytes");
  all_ok("checkpointing", "1", 2, "activation_bytes");
  all_ok("scale", "1,2", 3, "samples_per_second");  // the third is one rank over half of the data
}

TEST(StudyCommand, SmallMeasuresVariantsWithAndWithoutExits) {
  const Scratch scratch;
  const Finished done = hone(tiny_study("small", scratch / "s"));
  ASSERT_EQ(done.code, 0) << done.err;
  const report::StudyRuns study = records_of(scratch / "s");
  ASSERT_EQ(study.cases.size(), 6U);
  for (const report::CaseRuns& runs : study.cases) {
    EXPECT_EQ(runs.status, "ok") << runs.label();
    for (const char* metric : {"score", "p50_ms", "peak_bytes"}) {
      EXPECT_EQ(runs.spread(metric).count, 1U) << metric;
    }
  }
}

TEST(StudyCommand, WhatIsNotThereIsACellWithItsReason) {
  const Scratch scratch;
  const Finished done = hone(tiny_study("prepare", scratch / "p"));
  ASSERT_EQ(done.code, 0) << done.err;
  for (const report::CaseRuns& runs : records_of(scratch / "p").cases) {
    EXPECT_TRUE(runs.status.starts_with("not available: ")) << runs.status;
  }
  const Finished dry = hone({"study", "prepare", "--dry_run"});
  EXPECT_NE(dry.out.find("# not available"), std::string::npos);
}

TEST(StudyCommand, PreparesSharesOfAFile) {
  const Scratch scratch;
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += "{\"reviewText\":\"a film of number " +
             std::string(1, static_cast<char>('a' + i % 26)) +
             std::string(static_cast<size_t>(i % 7), 'x') + "\",\"overall\":5}\n";
  }
  const Words words = {
      "study",  "prepare",  "--output", scratch / "p", "--repeats",
      "1",      "--points", "1",        "--data",      scratch.write("r.jsonl", lines),
      "--quiet"};
  const Finished done = hone(words);
  ASSERT_EQ(done.code, 0) << done.err;
  const report::StudyRuns study = records_of(scratch / "p");
  ASSERT_EQ(study.cases.size(), 3U);
  for (const report::CaseRuns& runs : study.cases) {
    ASSERT_EQ(runs.status, "ok") << runs.label();
    const double share = runs.number("share") / 100;
    EXPECT_NEAR(runs.spread("records").median, 40 * share, 2) << runs.label();
  }
}

TEST(StudyCommand, ShowsPublishedFiguresAndMoney) {
  const Scratch scratch;
  const Finished stages =
      hone({"study", "stages", "--from", "published", "--output", scratch / "s"});
  ASSERT_EQ(stages.code, 0) << stages.err;
  EXPECT_NE(stages.out.find("81.7"), std::string::npos);
  const Finished money = hone({"study", "money", "--output", scratch / "m", "--deadline", "15000"});
  ASSERT_EQ(money.code, 0) << money.err;
  EXPECT_NE(money.out.find("40.08"), std::string::npos);
  EXPECT_NE(money.out.find("bills 1 of 2 nodes"), std::string::npos);
  EXPECT_NE(money.out.find("Cheapest within 15000 s: 1x4"), std::string::npos) << money.out;
}

TEST(StudyCommand, SimulatesOnlyWhatItCouldPredict) {
  const Scratch scratch;
  const auto records = [&](double eight) {
    std::string lines;
    const std::pair<int, double> steps[] = {{1, 100}, {2, 110}, {4, 115}, {8, eight}};
    for (const auto& [ranks, ms] : steps) {
      lines += Json({{"study", "scale"},
                     {"case", {{"ranks", ranks}}},
                     {"metrics",
                      {{"step_ms", ms}, {"communication_ms", ms - 100}, {"exposed_ms", ms - 100}}}})
                   .dump() +
               "\n";
    }
    return lines;
  };
  const Words words = {"study", "simulate", "--output", scratch / "o", "--from"};
  const auto run = [&](double eight) {
    Words all = words;
    all.push_back(scratch.write("r.jsonl", records(eight)));
    return hone(all);
  };
  const Finished good = run(117.5);
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_NE(good.out.find("1024"), std::string::npos);
  const Finished bad = run(400);
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.out.find("1024"), std::string::npos) << bad.out;
}

TEST(StudyCommand, RefusesMistakesInOneLine) {
  const Scratch scratch;
  expect_refused(hone({"study", "nothing"}), {"'nothing'", "loader"});
  expect_refused(hone({"study", "loader", "--points", "1,x"}), {"--points", "'x'"});
  expect_refused(hone({"study", "loader", "--model", "/nowhere"}), {"/nowhere"});
  expect_refused(hone({"study", "loader", "--data", "/nowhere"}), {"--data", "/nowhere"});
  expect_refused(hone({"study", "loader", "--from", "/nowhere"}), {"/nowhere"});
  expect_refused(hone({"study", "simulate"}), {"--from"});
  const std::string newer = scratch.write("r.jsonl", "{\"format\":9,\"study\":\"loader\"}\n");
  expect_refused(hone({"study", "loader", "--from", newer}), {"line 1", "format", "9"});
}

}  // namespace
}  // namespace hone::cli
