// Training on a GPU with values where gradients come later, against training without.
#include <gtest/gtest.h>

#include "train/family_fixture.h"
#include "train/gpu_fixture.h"

namespace hone::train {
namespace {

struct LentOutcome : Outcome {
  size_t lent = 0;  ///< values that lie among the gradients
};

size_t count_lent(const Plan& plan, const Runner& runner, const GradientArray& gradients) {
  const auto* begin = static_cast<const std::byte*>(gradients.data);
  size_t count = 0;
  for (const Step& step : plan.steps()) {
    for (const Value& value : step.writes) {
      const auto* at = static_cast<const std::byte*>(runner.address(value));
      if (at >= begin && at < begin + gradients.bytes) ++count;
    }
  }
  return count;
}

/// What Stepper does for steps of one batch.
LentOutcome train(const std::string& name, bool lends, const models::TrainingOptions& options) {
  ThreadPool pool(1);
  Family family(name);
  family.drop(0.1f);
  family.load(Target::cuda());
  nn::Parameters& parameters = family.parameters();
  const auto optimizer = optim::Optimizer::make(parameters, family.all(), {});
  const models::Pass step = family.encoder->record_training(
      family.loss(), family.all(), first_pass(options, parameters.target()));
  Runner runner(step.plan, parameters.arrays_for(options.dtype, step.shadows, true), pool,
                {.gradients = optimizer->gradients()});
  optimizer->set_gradients_set(step.set_slots);
  if (lends) runner.lend(optimizer->gradient_array());
  LentOutcome outcome;
  for (const size_t number : {0, 1, 2, 0, 1, 2, 0}) {
    const TrainingBatch batch = family.batch(number);
    const int64_t random[2] = {1, static_cast<int64_t>(outcome.losses.size())};
    const double scale[2] = {batch.state.count, 1};
    const Extents extents = batch.sequences.extents();
    runner.resize(extents);
    if (outcome.losses.empty()) {
      EXPECT_EQ(runner.arena_bytes(), runner.bytes_for(extents));
    }
    step.bind(batch.sequences, runner);
    runner.bind(step.random, random);
    runner.bind(step.scale, scale);
    runner.bind(step.labels, batch.sequences.targets.empty()
                                 ? static_cast<const void*>(batch.sequences.classes.data())
                                 : batch.sequences.targets.data());
    parameters.refresh(pool);
    runner.run();
    outcome.losses.push_back(*runner.output<double>(step.losses.front().value));
    outcome.norms.push_back(optimizer->step(1e-3, pool).grad_norm);
  }
  outcome.lent = count_lent(*step.plan, runner, optimizer->gradient_array());
  outcome.weights = weights_of(parameters);
  return outcome;
}

class GpuTrainingMemory : public OnGpu<const char*> {};

TEST_P(GpuTrainingMemory, LentByGradientsChangesNoBits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const int64_t segments : {0, 2}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + ", segments: " + std::to_string(segments));
      const models::TrainingOptions options{.dtype = dtype, .checkpoint_segments = segments};
      const LentOutcome own = train(GetParam(), false, options);
      const LentOutcome lent = train(GetParam(), true, options);
      EXPECT_GT(lent.lent, 10u);
      EXPECT_EQ(own.lent, 0u);
      EXPECT_EQ(lent.losses, own.losses);
      EXPECT_EQ(lent.norms, own.norms);
      EXPECT_EQ(lent.weights, own.weights);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GpuTrainingMemory, testing::ValuesIn(kFamilies),
                         family_test_name);

}  // namespace
}  // namespace hone::train
