// Training on a GPU against training on the processor, and against itself.
#include <gtest/gtest.h>

#include <tuple>

#include "io/scratch.h"
#include "models/init.h"
#include "models/save.h"
#include "plan/cuda_executor.h"
#include "train/adapter_fixture.h"
#include "train/gpu_fixture.h"

namespace hone::train {
namespace {

struct Setting {
  models::TrainingOptions options = {};
  float dropout = 0;
  bool halves = false;  ///< each batch in two, whose gradients are added up
  models::ExitMethod exits = models::ExitMethod::none;
  models::PositionKind positions = models::PositionKind::absolute;  ///< others: random weights
  /// Rate and momentum of SGD, in place of the golden's AdamW.
  std::optional<std::pair<double, double>> sgd = {};
};

/// Samples [first, end), with their labels.
data::Batch part_of(const data::Batch& batch, int64_t first, int64_t end) {
  std::vector<int64_t> rows;
  for (int64_t i = first; i < end; ++i) rows.push_back(i);
  data::Batch part = batch.subset(rows);
  const auto cut = [&](const auto& from, auto& to) {
    const int64_t width = static_cast<int64_t>(from.size()) / batch.size();
    to.assign(from.begin() + first * width, from.begin() + end * width);
  };
  cut(batch.classes, part.classes);
  cut(batch.targets, part.targets);
  return part;
}

/// All, or of DeeBERT the exits alone.
std::vector<bool> trained_slots(const Family& family) {
  std::vector<bool> slots = family.all();
  if (family.config().exits.method != models::ExitMethod::deebert) return slots;
  for (const nn::Parameter& parameter : family.encoder->parameters().list()) {
    slots[static_cast<size_t>(parameter.weight.slot)] =
        models::is_exit_weight(parameter.tensors.front());
  }
  return slots;
}

Outcome train_family(const std::string& name, const Target& target, const Setting& setting,
                     size_t most = 20) {
  ThreadPool pool(2);
  Family family(name);
  family.drop(setting.dropout);
  family.config().exits.method = setting.exits;
  family.load(target, 3);
  if (setting.positions != models::PositionKind::absolute) {
    family.config().position_kind = setting.positions;
    const auto& config = family.config();
    models::Encoder made(config, DType::f32, chosen_isa(), true);
    models::init_random(made, 3, 0.3f, pool);
    const io::Scratch folder;
    models::save_weights(made, folder.path());
    family.encoder = std::make_unique<models::Encoder>(config, DType::f32, target, true);
    models::load_weights(*family.encoder, *io::Weights::open(folder.path()), pool);
  }
  const Json& golden = family.history;
  optim::OptimizerOptions options{.eps = golden.at("epsilon"), .weight_decay = golden.at("decay")};
  double rate = golden.at("rate");
  if (setting.sgd) {
    options.kind = optim::OptimizerKind::sgd;
    std::tie(rate, options.momentum) = *setting.sgd;
  }
  const auto optimizer =
      optim::Optimizer::make(family.parameters(), trained_slots(family), options);
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, setting.options);
  Outcome outcome;
  for (size_t number = 0; number < std::min(most, family.steps()); ++number) {
    TrainingBatch batch = family.batch(number);
    const int64_t all = batch.sequences.sequences();
    double loss = 0;
    if (setting.halves) {
      for (const auto& [first, end] : {std::pair{int64_t{0}, all / 2}, std::pair{all / 2, all}}) {
        batch.state.first = first == 0;
        loss += stepper.accumulate(part_of(batch.sequences, first, end), batch.state);
      }
    } else {
      loss = stepper.accumulate(batch.sequences, batch.state);
    }
    outcome.losses.push_back(loss);
    outcome.norms.push_back(optimizer->step(rate, pool).grad_norm);
  }
  outcome.weights = weights_of(family.parameters());
  return outcome;
}

class GpuTraining : public OnGpu<const char*> {};

TEST_P(GpuTraining, FollowsTheProcessorForTwentySteps) {
  for (const float dropout : {0.f, 0.1f}) {
    SCOPED_TRACE(dropout);
    expect_near(train_family(GetParam(), Target::cuda(), {.dropout = dropout}),
                train_family(GetParam(), chosen_isa(), {.dropout = dropout}), 1e-4);
  }
}

TEST_P(GpuTraining, FollowsInHalfPrecision) {
  const Outcome cpu = train_family(GetParam(), chosen_isa(), {});
  for (const DType dtype : {DType::bf16, DType::f16}) {
    SCOPED_TRACE(dtype_name(dtype));
    expect_near(train_family(GetParam(), Target::cuda(), {.options = {.dtype = dtype}}), cpu, 6e-2);
  }
}

TEST_P(GpuTraining, AddsUpGradientsOfBatches) {
  expect_near(train_family(GetParam(), Target::cuda(), {.halves = true}),
              train_family(GetParam(), chosen_isa(), {.halves = true}), 1e-4);
}

TEST_P(GpuTraining, FollowsWithSgd) {
  std::vector<std::vector<double>> losses;
  for (const double momentum : {0., 0.9}) {
    SCOPED_TRACE(momentum);
    const Setting setting{.dropout = 0.1f, .sgd = std::pair(0.02, momentum)};
    const Outcome gpu = train_family(GetParam(), Target::cuda(), setting);
    expect_near(gpu, train_family(GetParam(), chosen_isa(), setting), 1e-4);
    losses.push_back(gpu.losses);
  }
  EXPECT_NE(losses[0], losses[1]);
}

TEST_P(GpuTraining, TwoRunsAreBitEqual) {
  const Setting setting{.options = {.dtype = DType::bf16}, .dropout = 0.1f};
  const Outcome a = train_family(GetParam(), Target::cuda(), setting, 6);
  const Outcome b = train_family(GetParam(), Target::cuda(), setting, 6);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.weights, b.weights);
}

TEST_P(GpuTraining, CheckpointedSegmentsGiveTheSameBits) {
  Setting setting{.options = {.dtype = DType::bf16}, .dropout = 0.1f};
  const Outcome plain = train_family(GetParam(), Target::cuda(), setting, 4);
  setting.options.checkpoint_segments = 2;
  const Outcome again = train_family(GetParam(), Target::cuda(), setting, 4);
  EXPECT_EQ(plain.losses, again.losses);
  EXPECT_EQ(plain.weights, again.weights);
}

TEST_P(GpuTraining, ReplayEqualsTheFirstRun) {
  ThreadPool pool(1);
  Family family(GetParam());
  family.drop(0.1f);
  family.load(Target::cuda());
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, {.dtype = DType::bf16});
  const TrainingBatch batch = family.batch(0);
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i) {
    losses.push_back(stepper.accumulate(batch.sequences, batch.state));
    optimizer->drop_gradients();
  }
  EXPECT_EQ(losses, std::vector<double>(4, losses.front()));
  const CudaExecutor::Counts& counts = stepper.runner().cuda()->counts();
  EXPECT_EQ(counts.eager, 1);
  EXPECT_EQ(counts.replays, 3);
}

TEST(GpuRelativePositions, FollowTheProcessorForTwentySteps) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  using models::PositionKind;
  for (const PositionKind kind : {PositionKind::relative_key, PositionKind::relative_key_query}) {
    Setting setting{.dropout = 0.1f, .positions = kind};
    const Outcome cpu = train_family("bert-words", chosen_isa(), setting);
    expect_near(train_family("bert-words", Target::cuda(), setting), cpu, 1e-4);
    setting.options.dtype = DType::bf16;
    expect_near(train_family("bert-words", Target::cuda(), setting), cpu, 6e-2);
  }
}

struct Exiting {
  const char* family;
  models::ExitMethod method;
};

class GpuExitTraining : public OnGpu<Exiting> {};

TEST_P(GpuExitTraining, FollowsTheProcessorForTwentySteps) {
  for (const float dropout : {0.f, 0.1f}) {
    SCOPED_TRACE(dropout);
    const Setting setting{.dropout = dropout, .exits = GetParam().method};
    expect_near(train_family(GetParam().family, Target::cuda(), setting),
                train_family(GetParam().family, chosen_isa(), setting), 1e-4);
  }
}

TEST_P(GpuExitTraining, FollowsInHalfPrecision) {
  Setting setting{.exits = GetParam().method};
  const Outcome cpu = train_family(GetParam().family, chosen_isa(), setting);
  setting.options.dtype = DType::bf16;
  expect_near(train_family(GetParam().family, Target::cuda(), setting), cpu, 6e-2);
}

using models::ExitMethod;
INSTANTIATE_TEST_SUITE_P(Families, GpuExitTraining,
                         testing::Values(Exiting{"bert-words", ExitMethod::pabee},
                                         Exiting{"bert-words", ExitMethod::deebert},
                                         Exiting{"roberta-regression", ExitMethod::pabee},
                                         Exiting{"distilbert-learned", ExitMethod::pabee},
                                         Exiting{"distilbert-learned", ExitMethod::deebert},
                                         Exiting{"albert-groups", ExitMethod::pabee},
                                         Exiting{"albert-groups", ExitMethod::deebert}),
                         [](const auto& test) {
                           std::string name = test.param.family;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + models::exit_method_name(test.param.method);
                         });

class GpuLoraTraining : public OnGpu<const char*> {};

Outcome train_adapter(const char* name, const Target& target, float dropout, DType dtype) {
  AdapterTraining training(name, target, dropout);
  Family& family = training.family;
  Stepper stepper(*family.encoder, family.loss(), *training.optimizer, training.pool,
                  {.dtype = dtype});
  Outcome outcome;
  for (size_t number = 0; number < family.steps(); ++number) {
    const TrainingBatch batch = family.batch(number);
    outcome.losses.push_back(stepper.accumulate(batch.sequences, batch.state));
    outcome.norms.push_back(
        training.optimizer->step(training.rate(number), training.pool).grad_norm);
  }
  return outcome;
}

TEST_P(GpuLoraTraining, FollowsTheProcessorForTwentySteps) {
  for (const float dropout : {0.f, 0.1f}) {
    SCOPED_TRACE(dropout);
    expect_near(train_adapter(GetParam(), Target::cuda(), dropout, DType::f32),
                train_adapter(GetParam(), chosen_isa(), dropout, DType::f32), 1e-4);
  }
}

TEST_P(GpuLoraTraining, FollowsInHalfPrecision) {
  const Outcome cpu = train_adapter(GetParam(), chosen_isa(), 0, DType::f32);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    SCOPED_TRACE(dtype_name(dtype));
    expect_near(train_adapter(GetParam(), Target::cuda(), 0, dtype), cpu, 6e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GpuLoraTraining, testing::ValuesIn(kAdapters), family_test_name);

INSTANTIATE_TEST_SUITE_P(Families, GpuTraining, testing::ValuesIn(kFamilies), family_test_name);

}  // namespace
}  // namespace hone::train
