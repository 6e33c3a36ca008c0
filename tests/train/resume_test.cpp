// A run that was stopped and taken up again is the run that was not.
#include "train/checkpoint.h"

#include <sstream>

#include "base/json.h"
#include "profile/usage.h"
#include "train/folder_lock.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

/// Gives a run's log without what the machine did meanwhile, which is never the same twice.
std::string log_without_usage(const std::string& output) {
  std::istringstream lines(read_file(output + "/log.jsonl"));
  std::string log;
  for (std::string line; std::getline(lines, line);) {
    Json entry = parse_json(line, "log.jsonl");
    entry.erase("seconds");
    for (const profile::UsageNumber& number : profile::usage_numbers()) {
      entry.erase(std::string(number.name));
    }
    log += entry.dump() + "\n";
  }
  return log;
}

struct Case {
  const char* name;
  std::function<void(Options&)> change;
};

class Resume : public RunTest, public testing::WithParamInterface<Case> {};

TEST_P(Resume, EqualsTheStraightRunBitForBit) {
  Options straight = options("straight");
  GetParam().change(straight);
  Listener whole;
  const Summary wanted = run(straight, whole);

  Options halves = straight;
  halves.output = folder("halves");
  halves.saving.kind = Interval::Kind::epoch;
  Listener first(3);
  const Summary stopped = run(halves, first);
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_EQ(stopped.last_checkpoint, checkpoint_path(halves.output, 3));
  EXPECT_FALSE(file_exists(halves.output + "/config.json"));

  halves.resume = "last";
  Listener second;
  const Summary resumed = run(halves, second);
  EXPECT_EQ(weights(halves.output), weights(straight.output));
  std::vector<double> losses = first.losses;
  losses.insert(losses.end(), second.losses.begin(), second.losses.end());
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(resumed.steps, wanted.steps);
  EXPECT_EQ(resumed.train_loss, wanted.train_loss);
  EXPECT_EQ(resumed.samples, wanted.samples);
  EXPECT_EQ(resumed.evaluation.front(), wanted.evaluation.front());
  EXPECT_EQ(log_without_usage(halves.output).substr(0, 400),
            log_without_usage(straight.output).substr(0, 400));
  EXPECT_EQ(lasting_state(halves.output), lasting_state(straight.output));
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Resume,
    testing::Values(
        Case{"plain", [](Options&) {}},
        Case{"accumulation", [](Options& o) { o.batch.accumulation = 2; }},
        Case{"token_budget", [](Options& o) { o.batch.max_tokens = 100; }},
        Case{"lengths", [](Options& o) { o.batch.group_by_length = true; }},
        Case{"sgd",
             [](Options& o) {
               o.optimizer.kind = optim::OptimizerKind::sgd;
               o.optimizer.momentum = 0.9;
             }},
        Case{"adamw_8bit", [](Options& o) { o.optimizer.kind = optim::OptimizerKind::adamw_8bit; }},
        Case{"adafactor", [](Options& o) { o.optimizer.kind = optim::OptimizerKind::adafactor; }},
        Case{"bf16", [](Options& o) { o.step.dtype = DType::bf16; }},
        Case{"fp16", [](Options& o) { o.step.dtype = DType::f16; }},
        Case{"lora",
             [](Options& o) {
               o.model.model = HONE_TEST_DIR "/../models/goldens/bert-words";
               o.model.lora = nn::LoraOptions{.rank = 3, .alpha = 6, .dropout = 0.1};
             }},
        Case{"segments", [](Options& o) { o.step.checkpoint_segments = 2; }},
        Case{"frozen", [](Options& o) { o.model.freeze = "bert.embeddings.*_embeddings.*"; }},
        Case{"no_workers", [](Options& o) { o.batch.workers = 0; }}),
    [](const auto& test) { return std::string(test.param.name); });

class Checkpoint : public RunTest {
 protected:
  /// A run with checkpoints 4, 8 and 12.
  Options saved(const std::string& name) {
    Options made = options(name);
    made.saving = {Interval::Kind::steps, 4};
    Listener listener;
    run(made, listener);
    return made;
  }
};

TEST_F(Checkpoint, OfEveryStepGivesTheSameEnd) {
  Options made = saved("run");
  const std::string wanted = weights(made.output);
  for (const char* name : {"/checkpoint-4", "/checkpoint-8", "/checkpoint-12"}) {
    made.resume = made.output + name;
    Listener listener;
    run(made, listener);
    EXPECT_EQ(weights(made.output), wanted) << name;
  }
}

TEST_F(Checkpoint, DamagedIsRefusedAndTheOneBeforeOffered) {
  Options made = saved("run");
  made.resume = "last";
  const std::string last = made.output + "/checkpoint-12";
  for (const char* name : {"/model.safetensors", "/optimizer_exp_avg.safetensors",
                           "/trainer_state.json", "/config.json", "/tokenizer.json"}) {
    const std::string whole = read_file(last + name);
    std::string spoilt = whole;
    spoilt[spoilt.size() / 2] ^= 4;
    write(fs::relative(last + name, folder("")).string(), spoilt);
    Listener listener;
    const std::string said = complaint([&] { run(made, listener); });
    EXPECT_NE(said.find(last + name), std::string::npos) << said;
    EXPECT_NE(said.find("checkpoint-8"), std::string::npos) << said;
    write(fs::relative(last + name, folder("")).string(), whole);
  }
  fs::remove(last + "/optimizer_exp_avg_sq.safetensors");
  Listener listener;
  EXPECT_NE(complaint([&] { run(made, listener); }).find("missing"), std::string::npos);
}

TEST_F(Checkpoint, OfAnotherRunSaysWhatDiffers) {
  const Options made = saved("run");
  const auto said = [&](const std::function<void(Options&)>& change) {
    Options other = made;
    other.resume = "last";
    change(other);
    Listener listener;
    return complaint([&] { run(other, listener); });
  };
  EXPECT_NE(said([](Options& o) { o.seed = 7; }).find("another seed: '42', this run has '7'"),
            std::string::npos);
  EXPECT_NE(said([](Options& o) { o.batch.train = 4; }).find("another batch size"),
            std::string::npos);
  EXPECT_NE(said([](Options& o) { o.data.max_train_samples = 63; }).find("training data"),
            std::string::npos);
  EXPECT_NE(said([](Options& o) {
              o.optimizer.kind = optim::OptimizerKind::adamw_8bit;
            }).find("another optimiser: 'adamw 0.9 0.999 1e-08 0 1', this run has 'adamw_8bit "),
            std::string::npos);
  EXPECT_EQ(said([](Options&) {}), "");
}

/// Such is left by a run that found less memory than the next one.
TEST_F(Checkpoint, OfHalvedBatchesIsTakenUpWithThemWhereSizesAreFound) {
  Options halved = options("run");
  halved.batch.train = 2;
  halved.batch.accumulation = 4;
  Listener first(3);
  EXPECT_TRUE(run(halved, first).interrupted);
  Options made = options("run");
  made.resume = "last";
  ASSERT_EQ(made.batch.train, 8);
  Listener refused;
  const std::string said = complaint([&] { run(made, refused); });
  EXPECT_NE(said.find("another batch size: '2', this run has '8'"), std::string::npos) << said;
  made.batch.find_size = true;
  Listener second;
  EXPECT_EQ(run(made, second).steps, 12);
  Options straight = halved;
  straight.output = folder("straight");
  Listener whole;
  run(straight, whole);
  EXPECT_EQ(weights(made.output), weights(straight.output));
}

/// Weights so large that every step behind the first overflows in fp16: what is shown of those is
/// the loss of the first.
TEST_F(Checkpoint, KeepsTheLossThatSkippedStepsShow) {
  Options straight = options("straight");
  straight.step.dtype = DType::f16;
  straight.learning_rate = 1e3;
  straight.evaluate = false;  // such a model is refused
  Listener whole;
  const Summary wanted = run(straight, whole);
  ASSERT_EQ(whole.warnings.size(), 11u);
  EXPECT_EQ(whole.losses, std::vector<double>(12, whole.losses.front()));

  Options halves = straight;
  halves.output = folder("halves");
  Listener first(3);
  run(halves, first);
  halves.resume = "last";
  Listener second;
  EXPECT_EQ(run(halves, second).train_loss, wanted.train_loss);
  EXPECT_EQ(second.losses, std::vector<double>(9, whole.losses.front()));
}

TEST_F(Checkpoint, OfAnotherFormatIsRefused) {
  Options made = saved("run");
  made.resume = "last";
  const std::string last = made.output + "/checkpoint-12";
  Json manifest = parse_json(read_file(last + "/checkpoint.json"), "checkpoint.json");
  manifest["format"] = manifest.at("format").get<int>() - 1;
  write_json(last + "/checkpoint.json", manifest);
  Listener listener;
  const std::string said = complaint([&] { run(made, listener); });
  EXPECT_NE(said.find("checkpoint.json: format"), std::string::npos) << said;
  EXPECT_NE(said.find("checkpoint-8"), std::string::npos) << said;
}

TEST_F(Checkpoint, LimitKeepsTheNewestAndTheBest) {
  Options made = options("run");
  made.saving = made.evaluation = {Interval::Kind::steps, 2};
  made.save_total_limit = 2;
  made.stopping.load_best = true;
  made.stopping.metric = "loss";
  Listener listener;
  const Summary summary = run(made, listener);
  const std::vector<std::string> left = list_checkpoints(made.output);
  ASSERT_LE(left.size(), 2u);
  EXPECT_EQ(left.back(), checkpoint_path(made.output, 12));
  EXPECT_TRUE(folder_exists(checkpoint_path(made.output, summary.best_step)));
  EXPECT_EQ(weights(made.output), weights(checkpoint_path(made.output, summary.best_step)));
}

TEST_F(Checkpoint, OfFolderInUseIsRefused) {
  Options made = options("run");
  const FolderLock other(made.output);
  Listener listener;
  const std::string said = complaint([&] { run(made, listener); });
  EXPECT_NE(said.find("in use by another run"), std::string::npos) << said;
}

TEST_F(Checkpoint, OfAnEarlierRunIsNeverOverwrittenUnasked) {
  Options made = saved("run");
  Listener listener;
  const std::string said = complaint([&] { run(made, listener); });
  EXPECT_NE(said.find("`overwrite`"), std::string::npos) << said;
  made.overwrite = true;
  made.max_steps = 2;
  made.saving.kind = Interval::Kind::never;
  run(made, listener);
  EXPECT_TRUE(list_checkpoints(made.output).empty());
}

}  // namespace
}  // namespace hone::train
