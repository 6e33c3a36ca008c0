// Training and evaluation through the public interface.
#include "hone/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "api/option_names.h"
#include "api/training_options.h"
#include "base/file.h"
#include "cli/flag_names.h"
#include "hone/evaluate.h"
#include "io/scratch.h"
#include "train/run.h"

namespace hone {
namespace {

/// Writes down what a run tells, and ends it behind a step.
class Heard : public TrainingObserver {
 public:
  explicit Heard(int64_t stop_at = -1) : stop_at_(stop_at) {}
  void on_step(const TrainingStep& step) override { steps.push_back(step); }
  void on_log(const TrainingLog& log) override { logs.push_back(log); }
  void on_evaluation(const TrainingLog& scores) override { evaluations.push_back(scores); }
  void on_checkpoint(const std::string& folder) override { checkpoints.push_back(folder); }
  void on_message(const std::string& line) override { messages.push_back(line); }
  bool stop_requested() override { return !steps.empty() && steps.back().step == stop_at_; }

  std::vector<TrainingStep> steps;
  std::vector<TrainingLog> logs;
  std::vector<TrainingLog> evaluations;
  std::vector<std::string> checkpoints;
  std::vector<std::string> messages;

 private:
  int64_t stop_at_;
};

/// The small built-in model on a few reviews: 8 steps of 8.
TrainingOptions few_steps(const std::string& output) {
  TrainingOptions options;
  options.output_dir = output;
  options.max_train_samples = 32;
  options.max_eval_samples = 16;
  options.num_train_epochs = 2;
  options.per_device_train_batch_size = 8;
  options.logging_steps = 2;
  options.threads = 2;
  return options;
}

double value_of(const std::vector<std::pair<std::string, double>>& values, const char* name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& value) { return value.first == name; });
  return found == values.end() ? NAN : found->second;
}

std::string refusal_of(const TrainingOptions& options) {
  try {
    train_model(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "trained";
}

TEST(ApiTraining, TellsItsObserverAllThatHappens) {
  const io::Scratch scratch;
  Heard heard;
  const TrainingSummary summary = train_model(few_steps(scratch / "run"), &heard);
  ASSERT_EQ(heard.steps.size(), 8U);
  EXPECT_EQ(heard.steps.back().step, 8);
  EXPECT_EQ(heard.steps.back().steps, 8);
  EXPECT_GT(heard.steps.back().loss, 0);
  ASSERT_EQ(heard.logs.size(), 5U);
  EXPECT_EQ(heard.logs[1].step, 4);
  EXPECT_GT(value_of(heard.logs[1].values, "loss"), 0);
  EXPECT_EQ(value_of(heard.logs[4].values, "train_loss"), summary.train_loss);
  ASSERT_EQ(heard.evaluations.size(), 2U);
  EXPECT_EQ(value_of(heard.evaluations.back().values, "eval_accuracy"),
            value_of(summary.metrics, "eval_accuracy"));
  EXPECT_EQ(heard.checkpoints,
            (std::vector<std::string>{scratch / "run/checkpoint-4", scratch / "run/checkpoint-8"}));
  EXPECT_FALSE(heard.messages.empty());
  EXPECT_EQ(summary.output_dir, scratch / "run");
  EXPECT_EQ(summary.steps, 8);
  EXPECT_EQ(summary.samples, 64);
  EXPECT_EQ(summary.last_checkpoint, scratch / "run/checkpoint-8");
  EXPECT_GT(summary.parameters, 0);
  EXPECT_EQ(summary.parameters, summary.trainable_parameters);
  EXPECT_GT(summary.memory_bytes, 0U);
  EXPECT_FALSE(summary.interrupted);
}

TEST(ApiTraining, EndsWhenItIsAskedToAndGoesOnToTheSameBits) {
  const io::Scratch scratch;
  const TrainingOptions straight = few_steps(scratch / "straight");
  train_model(straight);
  TrainingOptions parts = few_steps(scratch / "parts");
  Heard heard(3);
  const TrainingSummary first = train_model(parts, &heard);
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(heard.steps.size(), 3U);
  EXPECT_EQ(first.last_checkpoint, scratch / "parts/checkpoint-3");
  parts.resume_from_checkpoint = "last";
  EXPECT_FALSE(train_model(parts).interrupted);
  EXPECT_EQ(read_file(scratch / "parts/model.safetensors"),
            read_file(scratch / "straight/model.safetensors"));
}

TEST(ApiTraining, HandsOnWhatItsObserverThrows) {
  class Thrower : public TrainingObserver {
    void on_step(const TrainingStep& step) override {
      if (step.step == 2) throw std::domain_error("enough");
    }
  } thrower;
  const io::Scratch scratch;
  EXPECT_THROW(train_model(few_steps(scratch / "run"), &thrower), std::domain_error);
}

TEST(ApiTraining, WritesAModelThatAnswersAndIsScored) {
  const io::Scratch scratch;
  const TrainingSummary summary = train_model(few_steps(scratch / "run"));
  EvaluationData data;
  data.task_name = "reviews";
  data.max_samples = 16;
  const std::vector<Evaluation> scores = evaluate(scratch / "run", data);
  ASSERT_EQ(scores.size(), 1U);
  EXPECT_EQ(scores[0].task, "reviews");
  EXPECT_EQ(scores[0].split, "validation");
  EXPECT_EQ(scores[0].samples, 16);
  EXPECT_EQ(value_of(scores[0].metrics, "accuracy"), value_of(summary.metrics, "eval_accuracy"));
  EXPECT_NEAR(scores[0].loss, value_of(summary.metrics, "eval_loss"), 1e-6);
  write_file(scratch / "own.jsonl", "{\"text\":\"a film\",\"label\":\"positive\"}\n");
  data = {};
  data.file = scratch / "own.jsonl";
  EXPECT_EQ(evaluate(scratch / "run", data).front().samples, 1);
}

TEST(ApiTraining, NamesOptionsInItsErrors) {
  const io::Scratch scratch;
  const auto said = [&](const std::function<void(TrainingOptions&)>& change) {
    TrainingOptions options = few_steps(scratch / "run");
    change(options);
    return refusal_of(options);
  };
  EXPECT_EQ(said([](auto& o) { o.learning_rate = -1; }),
            "learning_rate: expected a number from 0 to 1000, got -1");
  EXPECT_EQ(said([](auto& o) { o.learning_rate = NAN; }),
            "learning_rate: expected a number from 0 to 1000, got nan");
  EXPECT_EQ(said([](auto& o) { o.optim = "lion"; }),
            "optim: expected adamw, adamw_8bit, adafactor or sgd, got 'lion'");
  EXPECT_EQ(said([](auto& o) {
              o.save_strategy = Strategy::no;
              o.load_best_model_at_end = true;
            }),
            "save_strategy: expected that of eval_strategy; load_best_model_at_end takes the best "
            "of the models that were saved");
  EXPECT_EQ(said([](auto& o) { o.task_name = "sst2"; }),
            "data: missing; the folder that has sst2's files");
  EXPECT_EQ(said([](auto& o) { o.lora_dropout = 0.1; }),
            "lora_rank: missing; the other options of adapters need it");
  EXPECT_EQ(said([](auto& o) { o.bf16 = o.fp16 = true; }), "fp16: expected one of bf16 and fp16");
  EXPECT_NE(said([](auto& o) { o.task_name = "nonsense"; }).find("task_name: expected one of"),
            std::string::npos);
}

TEST(ApiTraining, HasTheProgramsDefaults) {
  const train::Options defaults;
  TrainingOptions options;
  options.model = "DIR";
  const train::Options run = api::run_options(options);
  EXPECT_EQ(run.learning_rate, defaults.learning_rate);
  EXPECT_EQ(run.epochs, defaults.epochs);
  EXPECT_EQ(run.batch.train, defaults.batch.train);
  EXPECT_EQ(run.model.max_length, defaults.model.max_length);
  EXPECT_EQ(run.optimizer.eps, defaults.optimizer.eps);
  EXPECT_EQ(run.optimizer.max_grad_norm, defaults.optimizer.max_grad_norm);
  EXPECT_EQ(run.logging_steps, defaults.logging_steps);
  EXPECT_EQ(run.saving.steps, defaults.saving.steps);
  EXPECT_EQ(run.evaluation.kind, defaults.evaluation.kind);
  EXPECT_EQ(run.seed, defaults.seed);
  options.model.clear();
  const train::Options built_in = api::run_options(options);
  EXPECT_EQ(built_in.learning_rate, 3e-4);
  EXPECT_EQ(built_in.batch.train, 32);
  EXPECT_EQ(built_in.epochs, 4);
  EXPECT_EQ(built_in.warmup_ratio, 0.1);
}

TEST(ApiTraining, CallsOptionsAsTheProgramCallsItsFlags) {
  const auto flags = cli::field_flags();
  for (const api::OptionName& name : api::option_names()) {
    const auto flag = std::find_if(flags.begin(), flags.end(), [&](const cli::FieldFlag& entry) {
      return entry.field == name.field;
    });
    ASSERT_NE(flag, flags.end()) << name.field;
    EXPECT_EQ(flag->flag, "--" + std::string(name.option));
  }
}

TEST(ApiEvaluation, RefusesDataThatIsNotNamed) {
  const auto said = [](const EvaluationData& data, const ModelOptions& options) -> std::string {
    try {
      evaluate(HONE_TEST_DIR "/../models/goldens/bert-words", data, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "scored";
  };
  EvaluationData data;
  EXPECT_EQ(said(data, {}), "file: missing; or give `dir` or `task_name`");
  data.task_name = "sst2";
  EXPECT_EQ(said(data, {}), "data: missing; the folder that has sst2's files");
  data.task_name = "reviews";
  ModelOptions options;
  options.max_length = 1000;
  EXPECT_EQ(said(data, options), "max_length: 1000 is more than the model's 24 positions");
}

}  // namespace
}  // namespace hone
