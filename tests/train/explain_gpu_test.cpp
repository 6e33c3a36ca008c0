// Runs of parsers and of self-explaining models on a GPU, beside those on the processor.
#include "device/cuda.h"
#include "explain/concept_store.h"
#include "models/tree_parser.h"
#include "train/explain_fixture.h"

namespace hone::train {
namespace {

class ExplainGpu : public ExplainRun {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  }

  Options parsing(const std::string& name) const {
    Options made = explaining(name);
    made.explain = {};
    made.data.task = "parse";
    made.data.train_file = made.data.validation_file = write("parse.txt", kExplainTrees);
    return made;
  }

  struct Ran {
    std::vector<double> losses;
    std::vector<std::pair<std::string, double>> evaluation;
  };
  static Ran run_on(const std::string& device, Options options) {
    options.output += "-" + device;
    options.device = device;
    Listener listener;
    const Summary summary = run(options, listener);
    return {listener.losses, summary.evaluation};
  }
  /// Runs on both, and compares losses of steps and what the first evaluated number is.
  static void compare(const Options& options, double tolerance) {
    const Ran cpu = run_on("cpu", options), gpu = run_on("cuda", options);
    ASSERT_EQ(gpu.losses.size(), cpu.losses.size());
    for (size_t i = 0; i < cpu.losses.size(); ++i) {
      ASSERT_NEAR(gpu.losses[i], cpu.losses[i], tolerance * std::max(1., cpu.losses[i])) << i;
    }
    ASSERT_EQ(gpu.evaluation.front().first, "eval_loss");
    EXPECT_NEAR(gpu.evaluation.front().second, cpu.evaluation.front().second, tolerance);
  }
};

TEST_F(ExplainGpu, TrainingFollowsTheProcessors) {
  Options options = explaining("out");
  options.epochs = 7;  // twenty-one steps
  compare(options, 1e-4);
  const explain::ConceptStore cpu(options.output + "-cpu/" + explain::kConceptFile);
  const explain::ConceptStore gpu(options.output + "-cuda/" + explain::kConceptFile);
  ASSERT_EQ(gpu.size(), cpu.size());
  std::vector<float> ours(static_cast<size_t>(gpu.width())), wanted(ours);
  for (int64_t i = 0; i < cpu.size(); ++i) {
    EXPECT_EQ(gpu.text(i), cpu.text(i));
    gpu.model_vector(i, ours.data());
    cpu.model_vector(i, wanted.data());
    for (size_t c = 0; c < ours.size(); ++c) EXPECT_NEAR(ours[c], wanted[c], 1e-3);
  }
}

/// A GPU's steps run ahead of what is known of them, but not into an epoch of other concepts.
TEST_F(ExplainGpu, ConceptsAreRenewedWhereNothingElseEndsAnEpoch) {
  Options options = explaining("out");
  options.epochs = 4;
  options.learning_rate = 1e-2;
  options.evaluation.kind = options.saving.kind = Interval::Kind::never;
  const Ran cpu = run_on("cpu", options), gpu = run_on("cuda", options);
  ASSERT_EQ(gpu.losses.size(), cpu.losses.size());
  for (size_t i = 0; i < cpu.losses.size(); ++i) {
    EXPECT_NEAR(gpu.losses[i], cpu.losses[i], 1e-4) << i;
  }
}

TEST_F(ExplainGpu, TrainingInBf16FollowsTheProcessors) {
  Options options = explaining("out");
  options.step.dtype = DType::bf16;
  compare(options, 6e-2);
}

TEST_F(ExplainGpu, TrainingOfAdaptersFollowsTheProcessors) {
  Options options = explaining("out");
  options.model.lora = nn::LoraOptions{.rank = 3, .alpha = 6};
  compare(options, 1e-4);
}

TEST_F(ExplainGpu, AccumulatedStepsFollowTheProcessors) {
  Options options = explaining("out");
  options.batch.train = 2;
  options.batch.accumulation = 2;
  compare(options, 1e-4);
}

TEST_F(ExplainGpu, AParserFollowsTheProcessors) {
  Options options = parsing("out");
  options.epochs = 8;
  compare(options, 1e-4);
  options.step.dtype = DType::bf16;
  options.output = folder("bf16");
  compare(options, 6e-2);
}

TEST_F(ExplainGpu, AParserParsesAsTheProcessorDoes) {
  Options options = parsing("out");
  options.epochs = 100;
  options.learning_rate = 4e-3;
  options.device = "cpu";
  Listener listener;
  run(options, listener);
  use_cuda_device(0);
  ThreadPool pool(2);
  const std::vector<std::string_view> texts = {"The film was very good", "", "best",
                                               "  a film of the time"};
  const auto cpu = models::TreeParser(options.output, pool).parse(texts);
  const auto gpu = models::TreeParser(options.output, pool, 0, {}, true).parse(texts);
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(gpu[i].constituents, cpu[i].constituents);
}

TEST_F(ExplainGpu, ARunThatWasStoppedGoesOnBitForBit) {
  Options straight = explaining("straight");
  straight.device = "cuda";
  straight.step.dtype = DType::bf16;
  Listener whole;
  run(straight, whole);
  Options halves = straight;
  halves.output = folder("halves");
  halves.saving = {Interval::Kind::steps, 4};
  Listener first(4);  // three steps an epoch: amid the second
  EXPECT_TRUE(run(halves, first).interrupted);
  halves.resume = "last";
  Listener second;
  run(halves, second);
  EXPECT_EQ(weights(halves.output), weights(straight.output));
  EXPECT_EQ(read_file(halves.output + "/" + explain::kConceptFile),
            read_file(straight.output + "/" + explain::kConceptFile));
}

}  // namespace
}  // namespace hone::train
