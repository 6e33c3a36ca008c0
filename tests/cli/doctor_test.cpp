#include "cli/doctor_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace hone::cli {
namespace {

using Status = Check::Status;

/// A profile of a run of 100 s with nothing to complain of.
Json clean_profile() {
  return {{"wall_s", 100.},
          {"command", {"train", "--task_name", "sst2", "--threads", "2", "--bf16"}},
          {"stages",
           {{"loading", 1.},
            {"forward", 30.},
            {"backward", 60.},
            {"evaluation", 4.},
            {"other", {{"optimizer", 4.}, {"checkpoint", 1.}}}}},
          {"window", {{"seconds", 10.}}},
          {"ops",
           {{{"name", "linear"}, {"self_s", 7.}, {"device_s", 0.}},
            {{"name", "waiting for a batch"}, {"self_s", 0.1}, {"total_s", 0.1}}}},
          {"overlapped", {{{"name", "writing a checkpoint"}, {"seconds", 1.}}}},
          {"memory", {{"peak_resident", 1e9}}},
          {"facts",
           {{"steps", 1000},
            {"evaluations", 10},
            {"checkpoints", 10},
            {"checkpoint_bytes", 1e9},
            {"threads", 2},
            {"usable_cores", 2},
            {"workers", 1},
            {"dtype_bits", 16},
            {"tokens_per_batch", 800},
            {"samples_per_batch", 32},
            {"bf16_times_as_fast", 2.},
            {"stolen_share", 0.002},
            {"throttled_s", 0.},
            {"quota_cores", 0.},
            {"memory_limit", 24e9}}}};
}

/// Gives the one check of a name that a profile with a fault gives; the test fails where there is
/// none, or where something else is found as well.
Check found(const Json& profile, const std::string& name) {
  const std::vector<Check> checks = diagnose(profile, "profile.json");
  EXPECT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks.front().name, name) << checks.front().evidence;
  EXPECT_EQ(checks.front().status, Status::advice);
  return checks.front();
}

TEST(Doctor, ACleanRunGivesNoAlarm) {
  const std::vector<Check> checks = diagnose(clean_profile(), "profile.json");
  ASSERT_EQ(checks.size(), 1U) << checks.front().evidence;
  EXPECT_EQ(checks.front().status, Status::ok);
}

TEST(Doctor, EvaluationsThatComeTooOften) {
  Json profile = clean_profile();
  profile["stages"]["evaluation"] = 50.;
  profile["facts"]["evaluations"] = 100;
  const Check check = found(profile, "evaluations");
  EXPECT_NE(check.command.find("--eval_steps 190"), std::string::npos) << check.command;
  EXPECT_NEAR(check.gain, 0.475, 0.02);
}

TEST(Doctor, CheckpointsThatComeTooOften) {
  Json profile = clean_profile();
  profile["stages"]["other"]["checkpoint"] = 40.;
  profile["facts"]["checkpoints"] = 100;
  const Check check = found(profile, "checkpoints");
  EXPECT_NE(check.command.find("--save_steps"), std::string::npos) << check.command;
  EXPECT_GT(check.gain, 0.3);
}

TEST(Doctor, OneThreadWhereTwoCoresAre) {
  Json profile = clean_profile();
  profile["command"] = {"train", "--threads=1", "--task_name", "sst2"};
  profile["facts"]["threads"] = 1;
  const Check check = found(profile, "threads");
  EXPECT_EQ(check.command, "hone train --task_name sst2 --threads 2");
  EXPECT_NEAR(check.gain, 0.98 * 0.5 * 0.85, 0.01);
}

TEST(Doctor, StepsThatWaitForBatches) {
  Json profile = clean_profile();
  profile["ops"][1]["total_s"] = 4.;
  const Check check = found(profile, "loading");
  EXPECT_NE(check.command.find("--dataloader_num_workers 2"), std::string::npos);
  EXPECT_NEAR(check.gain, 0.2, 0.01);
}

TEST(Doctor, TooManyThreadsMakeBatches) {
  Json profile = clean_profile();
  profile["facts"]["workers"] = 16;
  profile["ops"][1]["total_s"] = 2.;
  EXPECT_NE(found(profile, "loader's threads").command.find("--dataloader_num_workers 1"),
            std::string::npos);
}

TEST(Doctor, Fp32WhereBf16Serves) {
  Json profile = clean_profile();
  profile["command"] = {"train"};
  profile["facts"]["dtype_bits"] = 32;
  const Check check = found(profile, "precision");
  EXPECT_EQ(check.command, "hone train --bf16");
  EXPECT_NEAR(check.gain, 0.35, 0.01);
  profile["facts"]["bf16_times_as_fast"] = 0.6;  // an Intel without AMX has such
  EXPECT_EQ(diagnose(profile, "profile.json").front().status, Status::ok);
}

TEST(Doctor, BatchesThatAreTooSmall) {
  Json profile = clean_profile();
  profile["facts"]["tokens_per_batch"] = 25;
  profile["facts"]["samples_per_batch"] = 1;
  profile["stages"]["other"]["optimizer"] = 40.;
  const Check check = found(profile, "batch size");
  EXPECT_NE(check.command.find("--per_device_train_batch_size 11"), std::string::npos);
  EXPECT_NEAR(check.gain, 0.36, 0.02);
}

TEST(Doctor, WhatTheSurroundingsTake) {
  Json profile = clean_profile();
  profile["facts"]["stolen_share"] = 0.2;
  EXPECT_TRUE(found(profile, "neighbours").command.empty());
  profile = clean_profile();
  profile["facts"]["throttled_s"] = 30.;
  profile["facts"]["quota_cores"] = 0.5;
  EXPECT_NE(found(profile, "processor quota").evidence.find("0.50"), std::string::npos);
  profile = clean_profile();
  profile["facts"]["memory_limit"] = 1.05e9;
  EXPECT_NE(found(profile, "memory").command.find("--gradient_checkpointing"), std::string::npos);
  profile = clean_profile();
  profile["overlapped"][0]["seconds"] = 60.;
  EXPECT_TRUE(found(profile, "disk").command.empty());
}

TEST(Doctor, WhatCostsMostComesFirst) {
  Json profile = clean_profile();
  profile["facts"]["threads"] = 1;
  profile["stages"]["evaluation"] = 16.;
  const std::vector<Check> checks = diagnose(profile, "profile.json");
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0].name, "threads");
  EXPECT_GT(checks[0].gain, checks[1].gain);
}

TEST(Doctor, ADamagedProfileIsNamed) {
  Json profile = clean_profile();
  profile.erase("wall_s");
  EXPECT_THROW(diagnose(profile, "profile.json"), Error);
  EXPECT_THROW(diagnose({{"wall_s", 0}, {"command", Json::array()}}, "profile.json"), Error);
}

/// Every place of a profile in turn holds what it should not: there is an answer, or an error that
/// names the file, and no number of it is out of bounds.
TEST(Doctor, HostileProfilesAreJudgedOrRefused) {
  const std::vector<Json> values = {
      nullptr,
      true,
      "",
      "text",
      -1,
      0,
      1e-308,
      1e308,
      -1e308,
      INT64_MIN,
      UINT64_MAX,
      Json::array(),
      Json::object(),
      Json::array({nullptr, 1, "x", Json::array()}),
      Json::array({{{"name", 7}}, {{"name", "linear"}, {"self_s", "much"}}}),
      {{"other", 3}}};
  Json slow = clean_profile();  // everything that can be found is
  slow["stages"]["evaluation"] = 60.;
  slow["stages"]["other"]["checkpoint"] = 30.;
  slow["facts"]["threads"] = 1;
  slow["facts"]["dtype_bits"] = 32;
  slow["facts"]["tokens_per_batch"] = 3;
  slow["facts"]["stolen_share"] = 0.5;
  slow["facts"]["throttled_s"] = 50.;
  slow["facts"]["memory_limit"] = 1e9;
  slow["ops"][1]["total_s"] = 5.;
  int judged = 0;
  const auto judge = [&](const Json& profile) {
    try {
      for (const Check& check : diagnose(profile, "profile.json")) {
        EXPECT_GE(check.gain, 0) << profile;
        EXPECT_LE(check.gain, 1) << profile;
      }
      ++judged;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_NE(std::string(error.what()).find("profile.json"), std::string::npos);
    }
  };
  for (const Json& profile : {clean_profile(), slow}) {
    const Json places = profile.flatten();
    for (const auto& [place, unused] : places.items()) {
      for (Json::json_pointer at(place); !at.empty(); at.pop_back()) {
        for (const Json& value : values) {
          Json spoilt = profile;
          spoilt[at] = value;
          judge(spoilt);
        }
      }
    }
  }
  for (const Json& value : values) judge(value);
  EXPECT_GT(judged, 500);
}

TEST(Doctor, CommandsCanBePasted) {
  Json profile = clean_profile();
  profile["facts"]["threads"] = 1;
  profile["command"] = {"train", "--model", "my model", "it's; rm -rf x"};
  EXPECT_EQ(diagnose(profile, "profile.json").front().command,
            "hone train --model 'my model' 'it'\\''s; rm -rf x' --threads 2");
  profile["command"] = {"train", "a\x1b[31m"};
  EXPECT_THROW(diagnose(profile, "profile.json"), Error);
}

/// A folder that stands for "/".
class DoctorRoot {
 public:
  DoctorRoot() {
    put("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    put("sys/fs/cgroup/cpu.max", "50000 100000\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("proc/stat", "cpu 1 1 1 1 1 1 1 1\n");
  }
  ~DoctorRoot() { std::filesystem::remove_all(root_); }
  void put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + name).parent_path());
    write_file(root_ + "/" + name, text);
  }
  const std::string& path() const { return root_; }

 private:
  std::string root_ = testing::TempDir() + "doctor_root";
};

TEST(Doctor, LooksAtTheMachine) {
  const DoctorRoot root;
  const std::vector<Check> checks = check_machine(root.path());
  for (const char* name : {"huge pages", "processors", "clock"}) {
    const auto check = std::ranges::find_if(checks, [&](const Check& c) { return c.name == name; });
    ASSERT_NE(check, checks.end()) << name;
    EXPECT_EQ(check->status, Status::advice) << name;
    EXPECT_FALSE(check->command.empty()) << name;
  }
  const auto neighbours =
      std::ranges::find_if(checks, [](const Check& c) { return c.name == "neighbours"; });
  EXPECT_EQ(neighbours->status, Status::ok);
}

TEST(Doctor, LooksAtDiskModelAndData) {
  const std::string folder = testing::TempDir();
  EXPECT_EQ(check_disk(folder).back().name, "disk speed");
  EXPECT_NE(check_disk(folder).back().status, Status::error);
  EXPECT_EQ(check_disk(folder + "no_such_folder").front().status, Status::error);
  EXPECT_EQ(check_model(folder + "no_such_model").front().status, Status::error);
  const std::string file = folder + "doctor.csv";
  std::string rows = "label,text\nb,x\n";
  for (int i = 0; i < 20; ++i) rows += "a,y\n";
  write_file(file, rows);
  const std::vector<Check> checks = check_data(file);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[1].name, "classes");
  EXPECT_EQ(check_data(folder + "no_such_file.csv").front().status, Status::error);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace hone::cli
