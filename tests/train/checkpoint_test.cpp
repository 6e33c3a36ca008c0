// Activation checkpointing against the plain step: the same bits from less memory.
#include <gtest/gtest.h>

#include <cstring>

#include "models/folder.h"
#include "models/load.h"
#include "train/family_fixture.h"

namespace hone::train {
namespace {

struct SavedOutcome {
  std::vector<double> losses;
  std::vector<float> gradients;
  size_t arena = 0;
};

/// Two batches of each family's golden history, with dropout, their gradients added up.
SavedOutcome run(const std::string& name, const models::TrainingOptions& options) {
  Family family(name);
  family.drop(0.1f);
  family.load(chosen_isa());
  ThreadPool pool(2);
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, options);
  SavedOutcome outcome;
  for (size_t i = 0; i < 2; ++i) {
    const TrainingBatch batch = family.batch(i);
    outcome.losses.push_back(stepper.accumulate(batch.sequences, batch.state));
  }
  outcome.arena = stepper.runner().arena_bytes();
  for (const nn::Parameter& parameter : family.parameters().list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    const auto* gradient = static_cast<const float*>(optimizer->gradients().arrays[slot]);
    outcome.gradients.insert(outcome.gradients.end(), gradient,
                             gradient + family.parameters().elements(parameter.weight));
  }
  return outcome;
}

class Checkpointing : public testing::TestWithParam<const char*> {};

void expect_same_bits(const std::string& name, DType dtype) {
  SCOPED_TRACE(dtype_name(dtype));
  const SavedOutcome plain = run(name, {.dtype = dtype});
  const int64_t depth = Family(name).config().depth();
  for (const int64_t segments : {int64_t{1}, int64_t{2}, int64_t{3}, depth}) {
    SCOPED_TRACE(segments);
    const SavedOutcome saved = run(name, {.dtype = dtype, .checkpoint_segments = segments});
    EXPECT_EQ(plain.losses, saved.losses);
    ASSERT_EQ(plain.gradients.size(), saved.gradients.size());
    EXPECT_EQ(std::memcmp(plain.gradients.data(), saved.gradients.data(),
                          plain.gradients.size() * sizeof(float)),
              0);
  }
}

TEST_P(Checkpointing, GivesTheBitsOfThePlainStep) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    expect_same_bits(GetParam(), dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Checkpointing, testing::ValuesIn(kFamilies), family_test_name);

TEST(CheckpointedSteps, RunALayerAgainButForItsLastProduct) {
  Family family("bert-words");
  family.load(chosen_isa());
  const auto products = [&](int64_t segments) {
    const auto step =
        family.encoder->record_training({}, family.all(), {.checkpoint_segments = segments});
    return std::count_if(step.plan->steps().begin(), step.plan->steps().end(),
                         [](const Step& each) { return std::string_view(each.name) == "linear"; });
  };
  const int64_t depth = family.config().depth();
  EXPECT_EQ(products(0), 5 * depth + 2);
  EXPECT_EQ(products(depth), 9 * depth + 2);
  EXPECT_EQ(products(1), 10 * depth - 1 + 2);
}

/// A model deep enough that layers outweigh the rest.
TEST(CheckpointedMemory, HoldsOneLayerAndTheInputsOfAll) {
  models::EncoderConfig config = Family("bert-words").config();
  config.layers = 12;
  models::Encoder encoder(config, DType::f32, chosen_isa(), true);
  encoder.parameters().allocate();
  ThreadPool pool(1);
  const auto arena = [&](int64_t segments) {
    const auto step =
        encoder.record_training({}, std::vector<bool>(encoder.parameters().list().size(), true),
                                {.checkpoint_segments = segments});
    Runner runner(step.plan, encoder.parameters().pointers(), pool);
    Extents extents;
    extents[nn::kTokens] = 4096;
    extents[nn::kSequences] = extents[nn::kReads] = 128;
    runner.resize(extents);
    return static_cast<double>(runner.arena_bytes());
  };
  EXPECT_LT(arena(12), 0.4 * arena(0));
  EXPECT_LT(arena(4), 0.6 * arena(0));
}

}  // namespace
}  // namespace hone::train
