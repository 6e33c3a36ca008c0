// hone profile through the program: what it writes, and that it changes nothing.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/small_run.h"

namespace hone::cli {
namespace {

Json profile_in(const std::string& folder) {
  return parse_json(read_file(folder + "/profile.json"), folder + "/profile.json");
}

double stage_sum(const Json& stages) {
  double sum = 0;
  for (const auto& [name, value] : stages.items()) {
    if (value.is_number()) sum += value.get<double>();
    if (value.is_object()) sum += stage_sum(value);
  }
  return sum;
}

std::vector<std::string> profiled(const std::string& folder, std::vector<std::string> command) {
  command.insert(command.begin(), {"profile", "--output", folder, "--skip", "1", "--"});
  return command;
}

TEST(Profile, OfTrainingHasItsStagesOpsAndMemory) {
  const Scratch scratch;
  const Finished done = hone(profiled(scratch / "p", small_run(scratch / "out")));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("operation"), std::string::npos) << done.err;
  const Json profile = profile_in(scratch / "p");
  const double wall = profile.at("wall_s");
  const Json& stages = profile.at("stages");
  EXPECT_NEAR(stage_sum(stages), wall, 1e-6);
  for (const char* name : {"loading", "forward", "backward", "evaluation"}) {
    EXPECT_GT(stages.at(name).get<double>(), 0) << name;
  }
  EXPECT_GT(stages.at("other").at("optimizer").get<double>(), 0);
  double shares = 0;
  bool has_linear = false;
  for (const Json& op : profile.at("ops")) {
    shares += op.at("share").get<double>();
    if (op.at("name") == "linear") has_linear = op.at("flops").get<double>() > 0;
  }
  EXPECT_NEAR(shares, 1, 1e-6);
  EXPECT_TRUE(has_linear);
  EXPECT_EQ(profile.at("window").at("steps"), 10);
  for (const char* kind : {"weights", "gradients", "optimizer", "activations", "peak_resident"}) {
    EXPECT_GT(profile.at("memory").at(kind).get<uint64_t>(), 0U) << kind;
  }
  EXPECT_GE(profile.at("samples").size(), 2U);
  for (const char* name : {"trace.pftrace", "trace.json.gz", "report.html"}) {
    EXPECT_TRUE(file_exists(scratch / "p/" + name)) << name;
  }
}

TEST(Profile, ChangesNoBitOfARun) {
  const Scratch scratch;
  ASSERT_EQ(hone(small_run(scratch / "plain")).code, 0);
  ASSERT_EQ(hone(profiled(scratch / "p", small_run(scratch / "profiled"))).code, 0);
  EXPECT_EQ(read_file(scratch / "plain/model.safetensors"),
            read_file(scratch / "profiled/model.safetensors"));
}

TEST(Profile, OfPredictionKeepsTheAnswersApart) {
  const Scratch scratch;
  ASSERT_EQ(hone(small_run(scratch / "out", {"--max_steps", "1"})).code, 0);
  const Words predict = {"predict", "--model", scratch / "out"};
  const std::string input = "a great film\nnothing to see\n";
  const Finished plain = hone(predict, input);
  const Finished done = hone(profiled(scratch / "p", predict), input);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, plain.out);
  const Json profile = profile_in(scratch / "p");
  EXPECT_GT(profile.at("stages").at("forward").get<double>(), 0);
  EXPECT_GT(profile.at("stages").at("loading").get<double>(), 0);
  EXPECT_EQ(profile.at("stages").at("backward"), 0);
}

TEST(Profile, RefusesWhatItCannotProfile) {
  EXPECT_EQ(hone({"profile"}).code, 2);
  const Finished other = hone({"profile", "--", "tokenize"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("'tokenize'"), std::string::npos) << other.err;
  EXPECT_EQ(hone({"profile", "--window", "-1", "--", "train"}).code, 2);
}

}  // namespace
}  // namespace hone::cli
