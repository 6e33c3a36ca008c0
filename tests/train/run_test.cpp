#include "train/run.h"

#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "device/cuda.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

class Run : public RunTest {
 protected:
  std::string said(const Options& options) {
    Listener listener;
    return complaint([&] { run(options, listener); });
  }
};

TEST_F(Run, OfOneSeedGivesTheSameBitsTwice) {
  Listener first;
  Listener second;
  run(options("a"), first);
  run(options("b"), second);
  EXPECT_EQ(weights(folder("a")), weights(folder("b")));
  EXPECT_EQ(first.losses, second.losses);
  Options other = options("c");
  other.seed = 43;
  Listener third;
  run(other, third);
  EXPECT_NE(weights(folder("a")), weights(folder("c")));
}

TEST_F(Run, WithCheckpointedActivationsHasTheSameBits) {
  Listener plain;
  Listener checkpointed;
  run(options("a"), plain);
  Options segments = options("b");
  segments.step.checkpoint_segments = 2;
  run(segments, checkpointed);
  EXPECT_EQ(plain.losses, checkpointed.losses);
  EXPECT_EQ(weights(folder("a")), weights(folder("b")));
}

TEST_F(Run, OfHalvedBatchesFollowsTheWholeOnes) {
  Listener whole;
  Listener halves;
  run(options("a"), whole);
  Options two = options("b");
  two.batch.train = 4;
  two.batch.accumulation = 2;
  run(two, halves);
  ASSERT_EQ(whole.losses.size(), halves.losses.size());
  for (size_t i = 0; i < whole.losses.size(); ++i) {
    EXPECT_NEAR(whole.losses[i], halves.losses[i], 2e-4) << i;
  }
}

/// Evaluations compute where steps do. Those of one sample, all alike, need less, and are
/// laid out anew for no other reason.
class EvaluatedRun : public Run, public testing::WithParamInterface<std::string> {};

TEST_P(EvaluatedRun, IsNotChangedByEvaluationsBetweenSteps) {
  const std::string& device = GetParam();
  if (device == "cuda" && !cuda_info().missing.empty()) {
    GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  }
  const auto rows = [](int count) {
    std::string text = "text,label\n";
    for (int i = 0; i < count; ++i)
      text += i % 2 == 0 ? "a great film,good\n" : "a dull film,bad\n";
    return text;
  };
  Options never = options(device + "-never");
  never.data.train_file = write("few.csv", rows(8));
  never.data.validation_file = write("many.csv", rows(400));
  never.data.max_eval_samples = 400;
  never.batch.train = 1;
  never.device = device;
  Listener quiet;
  const Summary wanted = run(never, quiet);
  Options often = never;
  often.output = folder(device + "-often");
  often.evaluation = {Interval::Kind::steps, 5};
  Listener listener;
  const Summary summary = run(often, listener);
  EXPECT_EQ(listener.evaluations().size(), 2u);
  EXPECT_EQ(listener.losses, quiet.losses);
  EXPECT_EQ(weights(often.output), weights(never.output));
  EXPECT_EQ(summary.evaluation.front(), wanted.evaluation.front());
}

INSTANTIATE_TEST_SUITE_P(Devices, EvaluatedRun, testing::Values("cpu", "cuda"),
                         [](const auto& each) { return each.param == "cpu" ? "Cpu" : "Gpu"; });

TEST_F(Run, CountsStepsByEpochsOrByItself) {
  Listener listener;
  Options by_epoch = options("a");
  by_epoch.batch.train = 10;
  by_epoch.epochs = 2;  // each has 7 batches, the last one small
  EXPECT_EQ(run(by_epoch, listener).steps, 14);
  Options by_steps = options("b");
  by_steps.max_steps = 9;  // one more than an epoch has
  const Summary summary = run(by_steps, listener);
  EXPECT_EQ(summary.steps, 9);
  EXPECT_EQ(summary.samples, 72);
  EXPECT_NEAR(summary.epochs, 9. / 8, 1e-9);
}

TEST_F(Run, TimesSumToTheWall) {
  Listener listener;
  const Summary summary = run(options("a"), listener);
  const double wall = summary.stages.wall();
  EXPECT_GT(summary.stages[Stage::forward], 0);
  EXPECT_GT(summary.stages[Stage::backward], 0);
  EXPECT_GT(summary.stages[Stage::evaluation], 0);
  EXPECT_LE(summary.stages.accounted(), wall);
  const Json results = parse_json(read_file(folder("a") + "/all_results.json"), "results");
  const Json& seconds = results.at("seconds");
  double sum = 0;
  for (const char* stage : {"loading", "forward", "backward", "evaluation", "other"}) {
    sum += seconds.at(stage).get<double>();
  }
  EXPECT_NEAR(sum, seconds.at("wall").get<double>(), 1e-6);
}

/// Two evaluations never take the same time to the nanosecond.
TEST_F(Run, EvaluatesTheSameWeightsOnce) {
  Options whole = options("whole");
  whole.epochs = 1;
  Listener listener;
  const std::vector<std::pair<std::string, double>> final = run(whole, listener).evaluation;
  ASSERT_EQ(listener.evaluations().size(), 1u);
  EXPECT_EQ(final, listener.evaluations().back().values);

  Options more = options("more");  // four steps behind the epoch's end
  Listener other;
  const Summary summary = run(more, other);
  ASSERT_EQ(other.evaluations().size(), 1u);
  EXPECT_NE(summary.evaluation.front(), other.evaluations().back().values.front());
}

TEST_F(Run, EvaluatesTheBestModelThatItLoads) {
  Options best = options("a");
  best.learning_rate = 0;  // the first evaluation is the best one
  best.evaluation = best.saving = {Interval::Kind::steps, 4};
  best.stopping.load_best = true;
  Listener listener;
  const Summary summary = run(best, listener);
  ASSERT_EQ(summary.best_step, 4);
  ASSERT_EQ(listener.evaluations().size(), 3u);
  const LogEntry last = listener.evaluations().back();
  EXPECT_EQ(summary.evaluation.front(), last.values.front());
  EXPECT_NE(summary.evaluation, last.values);  // another time
}

TEST_F(Run, StopsWhenNothingImproves) {
  Options patient = options("a");
  patient.learning_rate = 0;
  patient.evaluation = {Interval::Kind::steps, 1};
  patient.stopping.patience = 3;
  Listener listener;
  const Summary summary = run(patient, listener);
  EXPECT_TRUE(summary.stopped_early);
  EXPECT_EQ(summary.steps, 4);  // the first evaluation is the best one
  EXPECT_EQ(summary.best_step, 1);
}

TEST_F(Run, IsCompleteWhereItsObserverEndsIt) {
  Options asked = options("a");
  asked.saving = {Interval::Kind::steps, 2};
  Listener listener;
  listener.end_at = 5;
  const Summary summary = run(asked, listener);
  EXPECT_EQ(summary.steps, 5);
  EXPECT_TRUE(summary.stopped_early);
  EXPECT_FALSE(summary.interrupted);
  EXPECT_EQ(listener.evaluations().size(), 0u);  // none was due before
  EXPECT_EQ(summary.evaluation.front().first, "eval_loss");
  EXPECT_TRUE(file_exists(folder("a") + "/model.safetensors"));
  EXPECT_EQ(listener.checkpoints,
            (std::vector{folder("a") + "/checkpoint-2", folder("a") + "/checkpoint-4"}));
}

TEST_F(Run, LearnsFromOwnFilesOfEveryKind) {
  std::string classes = "sentence,label\n";
  std::string scores = "sentence1\tsentence2\tlabel\n";
  std::string flags;
  for (int i = 0; i < 16; ++i) {
    const std::string text = i % 2 ? "a dull film" : "a great film";
    classes += text + (i % 2 ? ",bad\n" : ",good\n");
    scores += text + "\tthe plot\t" + (i % 2 ? "0.5" : "4.5") + "\n";
    flags += "{\"text\":\"" + text + "\",\"labels\":[" +
             (i % 2 ? "\"short\",\"dull\"" : "\"short\"") + "]}\n";
  }
  const std::pair<const char*, std::string> files[] = {
      {"classes.csv", classes}, {"scores.tsv", scores}, {"flags.jsonl", flags}};
  for (const auto& [name, text] : files) {
    Options own = options(std::string("out-") + name);
    own.data.train_file = own.data.validation_file = write(name, text);
    own.epochs = 12;
    own.learning_rate = 3e-3;
    Listener listener;
    const Summary summary = run(own, listener);
    EXPECT_LT(listener.losses.back(), 0.5 * listener.losses.front()) << name;
    EXPECT_GT(summary.evaluation.size(), 3u) << name;
  }
  const Json config =
      parse_json(read_file(folder("out-classes.csv") + "/config.json"), "config.json");
  EXPECT_EQ(config.at("id2label"), Json({{"0", "bad"}, {"1", "good"}}));
}

TEST_F(Run, WeighsClassesByTheirFrequency) {
  std::string text = "sentence,label\n";
  for (int i = 0; i < 12; ++i) text += i % 4 ? "a great film,good\n" : "a dull film,bad\n";
  Options plain = options("plain");
  plain.data.train_file = write("own.csv", text);
  plain.batch.train = 12;
  Options balanced = plain;
  balanced.output = folder("balanced");
  balanced.balanced_class_weights = true;
  Options given = plain;
  given.output = folder("given");
  given.class_weights = {2, 2.f / 3};  // 12 / (2 * 3), 12 / (2 * 9)
  Listener listener;
  run(plain, listener);
  run(balanced, listener);
  run(given, listener);
  EXPECT_EQ(weights(folder("balanced")), weights(folder("given")));
  EXPECT_NE(weights(folder("balanced")), weights(folder("plain")));
}

TEST_F(Run, ComplainsOfMistakes) {
  Options mistake = options("a");
  mistake.max_steps = 0;
  EXPECT_EQ(said(mistake).find("max_steps: "), 0u);

  mistake = options("b");
  mistake.data.train_file = write("one.csv", "text,label\na film,good\n");
  EXPECT_NE(said(mistake).find("at least two classes"), std::string::npos) << said(mistake);
  mistake.data.train_file = write("empty.csv", "text,label\n");
  EXPECT_NE(said(mistake).find("no samples"), std::string::npos) << said(mistake);
  mistake.data.train_file = write("two.csv", "text,label\na film,good\na plot,bad\n");
  mistake.data.validation_file = write("other.csv", "text,label\na film,good\na plot,odd\n");
  EXPECT_NE(said(mistake).find("line 3"), std::string::npos) << said(mistake);
  EXPECT_NE(said(mistake).find("'odd'"), std::string::npos);

  mistake = options("c");
  mistake.stopping.load_best = true;
  EXPECT_EQ(said(mistake).find("saving: "), 0u);
  mistake = options("own");
  mistake.data.train_file = write("both.csv", "text,label\na film,good\na plot,bad\n");
  mistake.stopping.patience = 1;
  EXPECT_EQ(said(mistake).find("data.validation_file: "), 0u);
  mistake = options("d");
  mistake.stopping.metric = "beauty";
  EXPECT_NE(said(mistake).find("'beauty'"), std::string::npos);
  mistake = options("e");
  mistake.class_weights = {1, 2, 3};
  EXPECT_EQ(said(mistake).find("class_weights: "), 0u);
}

TEST_F(Run, WarnsOfABatchLargerThanTheData) {
  Options large = options("a");
  large.batch.train = 100;
  Listener listener;
  run(large, listener);
  ASSERT_EQ(listener.warnings.size(), 1u);
  EXPECT_NE(listener.warnings[0].find("100"), std::string::npos);
}

TEST_F(Run, EndsAtALossThatIsNoNumberAndNamesTheCheckpoint) {
  Options wild = options("a");
  wild.learning_rate = 1e30;
  wild.optimizer.kind = optim::OptimizerKind::sgd;
  wild.optimizer.max_grad_norm = 0;
  wild.saving = {Interval::Kind::steps, 1};
  Listener listener;
  try {
    run(wild, listener);
    FAIL() << "trained to the end";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::failed);
    const std::string text = error.what();
    EXPECT_NE(text.find("not a finite number"), std::string::npos) << text;
    EXPECT_NE(text.find("first in layer "), std::string::npos) << text;
    EXPECT_NE(text.find("checkpoint-"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace hone::train
