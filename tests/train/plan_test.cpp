// Training without a memory plan against training with one, and the parts that a step is timed in.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "plan/cuda_executor.h"
#include "train/family_fixture.h"
#include "train/gpu_fixture.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

struct PlannedOutcome : Outcome {
  size_t arena = 0;
  int64_t graphs = 0;
};

/// Five steps of two batches each, with dropout.
PlannedOutcome train_planned(const std::string& name, const Target& target, DType dtype,
                             bool planned) {
  ThreadPool pool(2);
  Family family(name);
  family.drop(0.1f);
  family.load(target);
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, {.dtype = dtype}, planned);
  PlannedOutcome outcome;
  for (size_t number = 0; number < 5; ++number) {
    TrainingBatch batch = family.batch(0);
    batch.state.step = static_cast<int64_t>(number);
    double loss = 0;
    for (const bool first : {true, false}) {
      batch.state.first = first;
      loss += stepper.accumulate(batch.sequences, batch.state);
    }
    outcome.losses.push_back(loss);
    outcome.norms.push_back(optimizer->step(1e-3, pool).grad_norm);
  }
  outcome.weights = weights_of(family.parameters());
  outcome.arena = stepper.runner().arena_bytes();
  if (const CudaExecutor* cuda = stepper.runner().cuda()) outcome.graphs = cuda->counts().graphs;
  return outcome;
}

class Unplanned : public testing::TestWithParam<const char*> {};

TEST_P(Unplanned, TrainingHasTheSameBitsInMoreMemory) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const PlannedOutcome with = train_planned(GetParam(), chosen_isa(), dtype, true);
    const PlannedOutcome without = train_planned(GetParam(), chosen_isa(), dtype, false);
    EXPECT_EQ(without.losses, with.losses);
    EXPECT_EQ(without.norms, with.norms);
    EXPECT_EQ(without.weights, with.weights);
    EXPECT_GT(without.arena, with.arena);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Unplanned, testing::ValuesIn(kFamilies), family_test_name);

class UnplannedGpu : public OnGpu<const char*> {};

TEST_P(UnplannedGpu, TrainingFollowsThePlannedOne) {
  const PlannedOutcome with = train_planned(GetParam(), Target::cuda(), DType::f32, true);
  const PlannedOutcome without = train_planned(GetParam(), Target::cuda(), DType::f32, false);
  expect_near(without, with, 1e-5);
  ASSERT_EQ(without.weights.size(), with.weights.size());
  for (size_t i = 0; i < with.weights.size(); ++i) {
    ASSERT_NEAR(without.weights[i], with.weights[i], 1e-5) << i;
  }
  EXPECT_GT(with.graphs, 0);
  EXPECT_EQ(without.graphs, 0);
  EXPECT_GT(without.arena, with.arena);
}

INSTANTIATE_TEST_SUITE_P(Families, UnplannedGpu, testing::ValuesIn(kFamilies), family_test_name);

class UnplannedRun : public RunTest {
 protected:
  Summary train(const std::string& device, bool planned, Listener& listener) {
    Options made = options(device + (planned ? "-with" : "-without"));
    made.planned = planned;
    made.device = device;
    return run(made, listener);
  }
};

TEST_F(UnplannedRun, HasTheBitsOfThePlannedOneAndSaysWhatItTakes) {
  Listener with, without;
  const Summary planned = train("cpu", true, with);
  const Summary unplanned = train("cpu", false, without);
  EXPECT_EQ(without.losses, with.losses);
  EXPECT_EQ(weights(folder("cpu-without")), weights(folder("cpu-with")));
  EXPECT_EQ(unplanned.evaluation.front(), planned.evaluation.front());
  EXPECT_GT(unplanned.memory.activations, 2 * planned.memory.activations);
}

TEST_F(UnplannedRun, FollowsThePlannedOneOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  Listener with, without;
  const Summary planned = train("cuda", true, with);
  const Summary unplanned = train("cuda", false, without);
  ASSERT_EQ(without.losses.size(), with.losses.size());
  for (size_t i = 0; i < with.losses.size(); ++i) {
    EXPECT_NEAR(without.losses[i], with.losses[i], 1e-5) << i;
  }
  EXPECT_NEAR(unplanned.evaluation.front().second, planned.evaluation.front().second, 1e-5);
}

/// The number of a plan's first step that gives a loss.
size_t first_loss(const models::Pass& pass) {
  const std::vector<Step>& steps = pass.plan->steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Value& value : steps[i].writes) {
      for (const models::NamedValue& loss : pass.losses) {
        if (value.id == loss.value.id) return i;
      }
    }
  }
  return steps.size();
}

class StepParts : public testing::TestWithParam<const char*> {};

TEST_P(StepParts, LossesBelongToTheBackwardPass) {
  for (const Target& target : {Target(chosen_isa()), Target::cuda()}) {
    for (const auto method : {models::ExitMethod::none, models::ExitMethod::pabee}) {
      Family family(GetParam());
      family.config().exits.method = method;
      const models::Encoder encoder(family.config(), DType::f32, target, true);
      const std::vector<bool> all(encoder.parameters().list().size(), true);
      const models::Pass pass = encoder.record_training(family.loss(), all);
      ASSERT_EQ(pass.losses.empty(), false);
      EXPECT_EQ(pass.forward_steps, first_loss(pass));
      EXPECT_LT(pass.forward_steps, pass.plan->steps().size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, StepParts, testing::ValuesIn(kFamilies), family_test_name);

TEST(StepTimes, CountTheWaitForABatchWhileTheDeviceHasNoWork) {
  Family family("bert-words");
  family.load(chosen_isa());
  ThreadPool pool(1);
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool);
  TrainingBatch batch = family.batch(0);
  const auto starved = [&](double waited) {
    const double before = stepper.times().starved;
    batch.state.waited = waited;
    stepper.accumulate(batch.sequences, batch.state);
    return stepper.times().starved - before;
  };
  EXPECT_EQ(starved(0.25), 0.25) << "nothing ran before the first batch";
  EXPECT_EQ(starved(0), 0);
  const Stopwatch watch;
  optimizer->step(1e-3, pool);
  stepper.end_step();
  EXPECT_EQ(starved(0), 0) << "the batch was there";
  optimizer->step(1e-3, pool);
  stepper.end_step();
  const double idle = starved(1e6);
  EXPECT_GT(idle, 0);
  EXPECT_LE(idle, watch.seconds()) << "no longer than since the step's end";
  EXPECT_GT(stepper.times().forward, 0);
  EXPECT_GT(stepper.times().backward, 0);
}

}  // namespace
}  // namespace hone::train
