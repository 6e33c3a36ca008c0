// A teacher beside the labels: twenty steps against PyTorch (tests/parity/distill_goldens.py), runs
// with a teacher's folder and with a model's own last layer, and teachers that cannot teach.
#include <filesystem>

#include "optim/schedule.h"
#include "train/family_fixture.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

class Distillation : public testing::TestWithParam<const char*> {};

TEST_P(Distillation, FollowsPyTorchForTwentySteps) {
  ThreadPool pool(2);
  Family family(GetParam(), std::string("distill-") + GetParam());
  family.drop(0);
  family.load(chosen_isa());
  const Json& golden = family.history;
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(),
                                                {.eps = golden.at("epsilon"),
                                                 .weight_decay = golden.at("decay"),
                                                 .max_grad_norm = golden.at("clip")});
  const optim::Schedule schedule{optim::ScheduleKind::linear, golden.at("warmup"),
                                 golden.at("steps")};
  ops::LossOptions loss = family.loss();
  loss.distill = {golden.at("weight"), golden.at("temperature")};
  std::vector<float> teacher;
  for (const Json& step : golden.at("history")) {
    for (const Json& row : step.at("rows")) {
      for (const Json& logit : row.at("teacher")) teacher.push_back(logit.get<float>());
    }
  }
  Stepper stepper(*family.encoder, loss, *optimizer, pool, {}, true, &teacher);
  int64_t sample = 0;
  for (size_t number = 0; number < family.steps(); ++number) {
    SCOPED_TRACE(number);
    TrainingBatch batch = family.batch(number);
    for (int64_t i = 0; i < batch.sequences.size(); ++i)
      batch.sequences.samples.push_back(sample++);
    const double wanted = family.step(number).at("loss");
    ASSERT_NEAR(stepper.accumulate(batch.sequences, batch.state), wanted,
                1e-5 * std::max(1., std::abs(wanted)));
    const double rate = golden.at("rate").get<double>() * schedule.factor(batch.state.step);
    const double norm = family.step(number).at("grad_norm");
    ASSERT_NEAR(optimizer->step(rate, pool).grad_norm, norm, 1e-4 * norm);
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, Distillation,
                         testing::Values("bert-words", "roberta-regression",
                                         "xlm-roberta-multi-label"),
                         family_test_name);

class DistilledRun : public RunTest {
 protected:
  /// Options of a run that a model taught which another run has made.
  Options taught(const std::string& name) {
    Options teacher = options("teacher");
    teacher.seed = 3;
    teacher.evaluate = false;
    if (!file_exists(teacher.output + "/model.safetensors")) {
      Listener listener;
      run(teacher, listener);
    }
    Options made = options(name);
    made.distill.teacher = teacher.output;
    return made;
  }
  std::string said(const Options& made) {
    return complaint([&] {
      Listener listener;
      run(made, listener);
    });
  }
};

TEST_F(DistilledRun, ByItsTeacherAloneComesNearToIt) {
  Options made = taught("student");
  made.distill.weight = 1;
  made.distill.temperature = 1;
  made.epochs = 12;
  Listener listener;
  run(made, listener);
  // The loss is the divergence from the teacher: it starts at what a new model has of it.
  EXPECT_LT(listener.losses.back(), 0.2 * listener.losses.front());
  EXPECT_NE(listener.lines.end(),
            std::find_if(listener.lines.begin(), listener.lines.end(), [](const auto& line) {
              return line.find("has answered 64 samples") != std::string::npos;
            }));
}

TEST_F(DistilledRun, ResumesBitForBitAndNotWithAnotherTeacher) {
  const Options straight = taught("straight");
  Listener whole;
  run(straight, whole);
  Options halves = straight;
  halves.output = folder("halves");
  Listener first(3), second;
  EXPECT_TRUE(run(halves, first).interrupted);
  halves.resume = "last";
  Options other = halves;
  other.distill.temperature = 3;
  EXPECT_NE(said(other).find("another teacher"), std::string::npos) << said(other);
  run(halves, second);
  EXPECT_EQ(weights(halves.output), weights(straight.output));
}

TEST_F(DistilledRun, ItsLastLayerTeachesExitsButNotItself) {
  for (const models::ExitMethod method : {models::ExitMethod::pabee, models::ExitMethod::deebert}) {
    Options made = options(models::exit_method_name(method));
    made.model.exits = method;
    made.max_steps = 1;
    if (method == models::ExitMethod::deebert) made.model.model = taught("").distill.teacher;
    Listener plain, distilled;
    run(made, plain);
    made.distill = {kSelf, 1, 1};
    made.output += "-self";
    run(made, distilled);
    // The loss is PABEE's last layer's share and divergences alone.
    EXPECT_LT(distilled.losses[0], 0.9 * plain.losses[0]);
    EXPECT_GT(distilled.losses[0], 0);
  }
}

TEST_F(DistilledRun, RefusesWhatCannotTeach) {
  Options made = taught("student");
  const std::string teacher = made.distill.teacher;
  made.distill.teacher = kSelf;
  EXPECT_EQ(said(made), "distill.teacher: the last layer teaches exits; give `model.exits`");
  const std::string goldens = HONE_TEST_DIR "/../models/goldens/";
  made.distill.teacher = goldens + "bert-words";
  EXPECT_NE(said(made).find("takes 24 tokens, the model 128; give `max_length`"), std::string::npos)
      << said(made);
  const std::string other = teacher + "-of-other-labels";
  std::filesystem::copy(teacher, other, std::filesystem::copy_options::recursive);
  std::string config = read_file(other + "/config.json");
  for (size_t at = 0; (at = config.find("positive", at)) != std::string::npos;) {
    config.replace(at, 8, "whatever");
  }
  write_file(other + "/config.json", config);
  made.distill.teacher = other;
  EXPECT_NE(said(made).find("other labels"), std::string::npos) << said(made);
  made.distill.teacher = teacher;
  made.class_weights = {1, 2};
  EXPECT_EQ(said(made), "class_weights: not together with `distill.teacher`");
  made.class_weights.clear();

  // A teacher without a head, and one whose vocabulary has two words in each other's place.
  namespace fs = std::filesystem;
  fs::copy(teacher, folder("other"), fs::copy_options::recursive);
  made.distill.teacher = folder("other");
  std::string tokenizer = read_file(teacher + "/tokenizer.json");
  const size_t at = tokenizer.find("\"film\"");
  ASSERT_NE(at, std::string::npos);
  write("other/tokenizer.json", tokenizer.replace(at, 6, "\"fi1m\""));
  EXPECT_NE(said(made).find("another vocabulary: token"), std::string::npos) << said(made);
  std::string model = read_file(teacher + "/model.safetensors");
  for (size_t place; (place = model.find("\"classifier.")) != std::string::npos;) {
    model.replace(place, 12, "\"blassifier.");
  }
  write("other/model.safetensors", model);
  EXPECT_NE(said(made).find("has no classification head"), std::string::npos) << said(made);
}

}  // namespace
}  // namespace hone::train
