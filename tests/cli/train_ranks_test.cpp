// hone train as several processes of one host.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.h"
#include "cli/small_run.h"

namespace hone::cli {
namespace {

/// The numbers of a name in a run's log, in order.
std::vector<double> logged_values(const std::string& output, const char* name) {
  std::vector<double> values;
  const std::string text = read_file(output + "/log.jsonl");
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const Json entry = parse_json(std::string_view(text).substr(at, end - at), "log.jsonl");
    if (entry.contains(name)) values.push_back(entry.at(name).get<double>());
    at = end + 1;
  }
  return values;
}

/// The small run as so many processes, with the batches of one.
Words small_ranks(const std::string& output, int ranks, const Words& more = {}) {
  Words words =
      small_run(output, {"--nproc-per-node", std::to_string(ranks), "--per_device_train_batch_size",
                         std::to_string(4 / ranks), "--logging_steps", "1", "--save_steps", "5"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_near_losses(const std::string& output, const std::string& wanted) {
  const std::vector<double> got = logged_values(output, "loss");
  const std::vector<double> one = logged_values(wanted, "loss");
  ASSERT_EQ(got.size(), one.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], one[i], 1e-5) << "step " << i + 1;
}

TEST(TrainRanks, DoWhatOneProcessDoes) {
  const Scratch scratch;
  const Finished one = hone(small_ranks(scratch / "one", 1, {"--threads", "1"}));
  ASSERT_EQ(one.code, 0) << one.err;
  const Finished two = hone(small_ranks(
      scratch / "two", 2, {"--threads", "1", "--do_predict", "--do_train", "--do_eval"}));
  ASSERT_EQ(two.code, 0) << two.err;
  ASSERT_EQ(two.objects().size(), 1u);
  const Json result = two.objects().front();
  EXPECT_EQ(result.at("ranks"), 2);
  EXPECT_EQ(result.at("train_samples"), 80);
  EXPECT_GT(result.at("communication").at("gradient_bytes"), 0);
  EXPECT_EQ(result.at("eval_accuracy"), one.objects().front().at("eval_accuracy"));
  expect_near_losses(scratch / "two", scratch / "one");
  EXPECT_EQ(logged_values(scratch / "two", "exposed_communication").size(), 1u);
  for (const char* name : {"model.safetensors", "all_results.json", "eval_results.json",
                           "predict_results.jsonl", "checkpoint-20/trainer_state.json"}) {
    EXPECT_TRUE(file_exists(scratch / "two/" + name)) << name;
  }
}

TEST(TrainRanks, OfAnyNumberGoOnFromACheckpoint) {
  const Scratch scratch;
  ASSERT_EQ(hone(small_ranks(scratch / "one", 1)).code, 0);
  Program program(small_ranks(scratch / "two", 2, {"--threads", "1", "--max_steps", "20"}));
  while (!folder_exists(scratch / "two/checkpoint-5")) {
    ASSERT_EQ(::kill(program.process(), 0), 0);
    ::usleep(2000);
  }
  program.signal(SIGTERM);
  const Finished stopped = program.finish();
  ASSERT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("go on from"), std::string::npos) << stopped.err;
  const Finished rest =
      hone(small_ranks(scratch / "two", 4, {"--resume_from_checkpoint", "last", "--threads", "1"}));
  ASSERT_EQ(rest.code, 0) << rest.err;
  expect_near_losses(scratch / "two", scratch / "one");
}

/// The processes that a process has started and that have not ended.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;
    // The state and the parent stand behind the name, which may hold anything.
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    char state = 0;
    pid_t of = 0;
    if (rest >> state >> of && of == parent && state != 'Z') found.push_back(std::stoi(text));
  }
  return found;
}

TEST(TrainRanks, ThatLoseOneGoOnFromTheLastCheckpointWithTheSameBits) {
  const Scratch scratch;
  const Words long_enough = {"--threads",      "1", "--max_steps",     "200", "--save_steps", "20",
                             "--max-restarts", "2", "--logging_steps", "20"};
  const Finished straight = hone(small_ranks(scratch / "straight", 2, long_enough));
  ASSERT_EQ(straight.code, 0) << straight.err;
  Program program(small_ranks(scratch / "killed", 2, long_enough));
  while (!folder_exists(scratch / "killed/checkpoint-20")) {
    ASSERT_TRUE(program.runs());
    ::usleep(2000);
  }
  const std::vector<pid_t> ranks = children_of(program.process());
  ASSERT_EQ(ranks.size(), 2U);
  ASSERT_EQ(::kill(ranks.back(), SIGKILL), 0);
  const Finished done = program.finish();
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("was ended by signal 9"), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("restart 1 of 2, with 2 ranks"), std::string::npos) << done.err;
  EXPECT_EQ(done.err.find("restart 2"), std::string::npos) << done.err;
  EXPECT_EQ(trained_weights(scratch / "killed"), trained_weights(scratch / "straight"));
  EXPECT_EQ(logged_values(scratch / "killed", "loss"), logged_values(scratch / "straight", "loss"));
}

TEST(TrainRanks, ThatLoseOneGoOnWithFewerAndTheSameBatches) {
  const Scratch scratch;
  const Words long_enough = {"--threads", "1", "--max_steps", "200", "--save_steps", "20"};
  ASSERT_EQ(hone(small_ranks(scratch / "straight", 4, long_enough)).code, 0);
  Words words = small_ranks(scratch / "killed", 4, long_enough);
  words.insert(words.end(), {"--max-restarts", "1", "--min_ranks", "3"});
  Program program(words);
  while (!folder_exists(scratch / "killed/checkpoint-20")) {
    ASSERT_TRUE(program.runs());
    ::usleep(2000);
  }
  const std::vector<pid_t> ranks = children_of(program.process());
  ASSERT_EQ(ranks.size(), 4U);
  ASSERT_EQ(::kill(ranks.back(), SIGKILL), 0);
  const Finished done = program.finish();
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("restart 1 of 1, with 3 ranks"), std::string::npos) << done.err;
  expect_near_losses(scratch / "killed", scratch / "straight");
}

TEST(TrainRanks, AreBalancedOrVirtualNotBoth) {
  const Scratch scratch;
  const auto refused = [&](const Words& more, const Words& parts) {
    expect_refused(hone(small_ranks(scratch / "out", 2, more)), parts);
  };
  refused({"--strategy", "single"}, {"--strategy", "ddp", "2 ranks"});
  refused({"--strategy", "other"}, {"--strategy", "'other'"});
  refused({"--virtual_ranks", "3"}, {"--virtual_ranks", "multiple of the 2 ranks", "'3'"});
  refused({"--virtual_ranks", "4", "--balance", "on"}, {"--balance"});
  refused({"--balance", "yes"}, {"--balance", "'yes'"});
  refused({"--dp_devices", "2"}, {"--dp_devices", "--strategy dp"});
}

TEST(TrainRanks, OfOneProcessAreDevices) {
  const Scratch scratch;
  const Words small = {"--logging_steps", "1"};
  ASSERT_EQ(hone(small_run(scratch / "one", small)).code, 0);
  Words words = {"--strategy", "dp", "--dp_devices", "2", "--per_device_train_batch_size", "2"};
  words.insert(words.end(), small.begin(), small.end());
  const Finished done = hone(small_run(scratch / "two", words));
  ASSERT_EQ(done.code, 0) << done.err;
  expect_near_losses(scratch / "two", scratch / "one");
}

}  // namespace
}  // namespace hone::cli
