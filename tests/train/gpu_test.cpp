// Training on a GPU against training on the processor, and against itself.
#include <gtest/gtest.h>

#include <cmath>

#include "device/cuda.h"
#include "optim/gpu_optimizer.h"
#include "plan/gpu_runner.h"
#include "train/family_fixture.h"

namespace hone::train {
namespace {

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<float> weights;
};

struct Setting {
  models::TrainingOptions options = {};
  float dropout = 0;
  bool halves = false;  ///< each batch in two, whose gradients are added up
};

models::Batch part_of(const models::Batch& batch, int64_t first, int64_t end) {
  std::vector<int64_t> rows;
  for (int64_t i = first; i < end; ++i) rows.push_back(i);
  return batch.subset(rows);
}

Labels part_of(const Labels& labels, int64_t first, int64_t end, int64_t all) {
  Labels part;
  const auto cut = [&](const auto& from, auto& to) {
    const int64_t width = static_cast<int64_t>(from.size()) / all;
    to.assign(from.begin() + first * width, from.begin() + end * width);
  };
  cut(labels.classes, part.classes);
  cut(labels.targets, part.targets);
  return part;
}

Outcome train_family(const std::string& name, Isa isa, const Setting& setting, size_t most = 20) {
  ThreadPool pool(2);
  Family family(name);
  family.drop(setting.dropout);
  family.load(isa);
  const Json& golden = family.history;
  optim::Optimizer optimizer(family.parameters(), family.all(),
                             {.eps = golden.at("epsilon"), .weight_decay = golden.at("decay")});
  Stepper stepper(*family.encoder, family.loss(), optimizer, pool, setting.options);
  Outcome outcome;
  for (size_t number = 0; number < std::min(most, family.steps()); ++number) {
    TrainingBatch batch = family.batch(number);
    const int64_t all = batch.sequences.sequences();
    double loss = 0;
    if (setting.halves) {
      for (const auto& [first, end] : {std::pair{int64_t{0}, all / 2}, std::pair{all / 2, all}}) {
        batch.state.first = first == 0;
        loss += stepper.accumulate(part_of(batch.sequences, first, end),
                                   part_of(batch.labels, first, end, all), batch.state);
      }
    } else {
      loss = stepper.accumulate(batch.sequences, batch.labels, batch.state);
    }
    outcome.losses.push_back(loss);
    outcome.norms.push_back(optimizer.step(golden.at("rate"), pool).grad_norm);
  }
  nn::Parameters& parameters = family.parameters();
  parameters.refresh_host();
  for (const nn::Parameter& parameter : parameters.list()) {
    const auto* start = static_cast<const float*>(
        parameters.pointers()[static_cast<size_t>(parameter.weight.slot)]);
    outcome.weights.insert(outcome.weights.end(), start,
                           start + parameters.elements(parameter.weight));
  }
  return outcome;
}

void expect_near(const Outcome& gpu, const Outcome& cpu, double tolerance) {
  ASSERT_EQ(gpu.losses.size(), cpu.losses.size());
  for (size_t i = 0; i < cpu.losses.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_NEAR(gpu.losses[i], cpu.losses[i], tolerance * std::max(1., std::abs(cpu.losses[i])));
    ASSERT_NEAR(gpu.norms[i], cpu.norms[i], 10 * tolerance * std::max(1., cpu.norms[i]));
  }
}

class GpuTraining : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
  }
};

TEST_P(GpuTraining, FollowsTheProcessorForTwentySteps) {
  for (const float dropout : {0.f, 0.1f}) {
    SCOPED_TRACE(dropout);
    expect_near(train_family(GetParam(), Isa::gpu, {.dropout = dropout}),
                train_family(GetParam(), chosen_isa(), {.dropout = dropout}), 1e-4);
  }
}

TEST_P(GpuTraining, FollowsInHalfPrecision) {
  const Outcome cpu = train_family(GetParam(), chosen_isa(), {});
  for (const DType dtype : {DType::bf16, DType::f16}) {
    SCOPED_TRACE(dtype_name(dtype));
    expect_near(train_family(GetParam(), Isa::gpu, {.options = {.dtype = dtype}}), cpu, 6e-2);
  }
}

TEST_P(GpuTraining, AddsUpGradientsOfBatches) {
  expect_near(train_family(GetParam(), Isa::gpu, {.halves = true}),
              train_family(GetParam(), chosen_isa(), {.halves = true}), 1e-4);
}

TEST_P(GpuTraining, TwoRunsAreBitEqual) {
  const Setting setting{.options = {.dtype = DType::bf16}, .dropout = 0.1f};
  const Outcome a = train_family(GetParam(), Isa::gpu, setting, 6);
  const Outcome b = train_family(GetParam(), Isa::gpu, setting, 6);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.weights, b.weights);
}

TEST_P(GpuTraining, CheckpointedSegmentsGiveTheSameBits) {
  Setting setting{.options = {.dtype = DType::bf16}, .dropout = 0.1f};
  const Outcome plain = train_family(GetParam(), Isa::gpu, setting, 4);
  setting.options.checkpoint_segments = 2;
  const Outcome again = train_family(GetParam(), Isa::gpu, setting, 4);
  EXPECT_EQ(plain.losses, again.losses);
  EXPECT_EQ(plain.weights, again.weights);
}

TEST_P(GpuTraining, ReplayEqualsTheFirstRun) {
  ThreadPool pool(1);
  Family family(GetParam());
  family.drop(0.1f);
  family.load(Isa::gpu);
  optim::Optimizer optimizer(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), optimizer, pool, {.dtype = DType::bf16});
  const TrainingBatch batch = family.batch(0);
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i) {
    losses.push_back(stepper.accumulate(batch.sequences, batch.labels, batch.state));
    optimizer.drop_gradients();
  }
  EXPECT_EQ(losses, std::vector<double>(4, losses.front()));
  const GpuRunner::Counts& counts = stepper.execution().gpu()->counts();
  EXPECT_EQ(counts.eager, 1);
  EXPECT_EQ(counts.replays, 3);
}

INSTANTIATE_TEST_SUITE_P(Families, GpuTraining, testing::ValuesIn(kFamilies), family_test_name);

}  // namespace
}  // namespace hone::train
