// Training of adapters against PEFT: twenty steps, the files, and what merging gives. The goldens
// are made by tests/parity/lora_goldens.py.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "io/scratch.h"
#include "models/save.h"
#include "train/adapter_fixture.h"

namespace hone::train {
namespace {

using io::Scratch;

std::vector<float> values_of(const io::Weights& weights, const io::TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  weights.read(tensor, 0, tensor.elements, values.data());
  return values;
}

/// The logits of the last step's rows, by an encoder as it stands.
std::vector<float> logits_of(const Family& family, const models::Model& encoder, ThreadPool& pool) {
  const models::Pass forward = encoder.record(models::OutputOptions{});
  Runner runner(forward.plan, encoder.parameters().pointers(), pool);
  const TrainingBatch batch = family.batch(family.steps() - 1);
  runner.resize(batch.sequences.extents());
  forward.bind(batch.sequences, runner);
  runner.run();
  const float* values = runner.output<float>(forward.output);
  return {values, values + batch.sequences.sequences() * forward.output.width};
}

std::vector<float> wanted_logits(const Family& family) {
  std::vector<float> values;
  for (const Json& row : family.history.at("logits")) {
    for (const Json& value : row) values.push_back(value.get<float>());
  }
  return values;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, float tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * std::max(1.f, std::abs(wanted[i])))
        << what << " at " << i;
  }
}

class LoraTraining : public testing::TestWithParam<const char*> {};

TEST_P(LoraTraining, FollowsPeftForTwentySteps) {
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    AdapterTraining training(GetParam(), isa);
    Family& family = training.family;
    const std::vector<float> frozen = [&] {
      const auto* start = static_cast<const float*>(family.parameters().pointers()[0]);
      return std::vector<float>(
          start, start + family.parameters().elements(family.parameters().list()[0].weight));
    }();
    Stepper stepper(*family.encoder, family.loss(), *training.optimizer, training.pool);
    for (size_t number = 0; number < family.steps(); ++number) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " step " + std::to_string(number));
      const TrainingBatch batch = family.batch(number);
      const double loss = stepper.accumulate(batch.sequences, batch.state);
      const double wanted = family.step(number).at("loss");
      ASSERT_NEAR(loss, wanted, 1e-5 * std::max(1., std::abs(wanted)));
      const optim::StepReport report =
          training.optimizer->step(training.rate(number), training.pool);
      const double norm = family.step(number).at("grad_norm");
      ASSERT_NEAR(report.grad_norm, norm, 1e-4 * norm);
    }
    const Scratch out;
    models::save_adapter(*family.encoder, training.trainable, family.folder.path, out.path());
    const auto saved = io::Weights::open(out / "adapter_model.safetensors");
    const auto wanted = io::Weights::open(family.golden + "/adapter_model.safetensors");
    ASSERT_EQ(saved->tensors().size(), wanted->tensors().size());
    for (const io::TensorInfo& tensor : wanted->tensors()) {
      const io::TensorInfo* mine = saved->find(tensor.name);
      ASSERT_NE(mine, nullptr) << tensor.name;
      ASSERT_EQ(mine->shape, tensor.shape) << tensor.name;
      expect_near(values_of(*saved, *mine), values_of(*wanted, tensor), 1e-4f, tensor.name);
    }
    EXPECT_EQ(0, std::memcmp(family.parameters().pointers()[0], frozen.data(),
                             frozen.size() * sizeof(float)))
        << "the base moved";
  }
}

TEST_P(LoraTraining, AdapterOfPeftMergesToItsLogits) {
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    ThreadPool pool(2);
    const Family family(adapted_base(GetParam()), GetParam());
    const models::Adapter adapter(family.golden);
    models::Encoder merged(family.config(), DType::f32, isa, true);
    const auto weights = io::Weights::open(family.folder.path);
    models::load_weights(merged, *weights, pool, {.adapter = &adapter});
    const std::vector<float> wanted = wanted_logits(family);
    expect_near(logits_of(family, merged, pool), wanted, 1e-5f, "merged");

    models::Encoder beside(family.config(), DType::f32, isa, true, adapter.options());
    models::load_weights(beside, *weights, pool, {.adapter = &adapter});
    expect_near(logits_of(family, beside, pool), wanted, 1e-5f, "beside");
  }
}

TEST_P(LoraTraining, WhatIsSavedOpensAsTheModelThatWasTrained) {
  AdapterTraining training(GetParam(), chosen_isa());
  Family& family = training.family;
  const Scratch out;
  models::save_adapter(*family.encoder, training.trainable, family.folder.path, out.path());
  models::save_config(family.folder.config_json, *family.encoder, out.path());

  const models::ModelFolder folder = models::open_model_folder(out.path());
  EXPECT_EQ(folder.path, family.folder.path);
  EXPECT_EQ(folder.config->labels, family.config().labels);
  const auto adapter = models::open_adapter(folder);
  ASSERT_NE(adapter, nullptr);
  const auto merged = models::make_model(*folder.config, {DType::f32, chosen_isa(), true, {}});
  models::load_weights(*merged, *io::Weights::open(folder.path), training.pool,
                       {.adapter = adapter.get()});
  expect_near(logits_of(family, *merged, training.pool),
              logits_of(family, *family.encoder, training.pool), 1e-5f, "merged");
}

TEST_P(LoraTraining, CheckpointedLayersGiveTheSameBits) {
  const auto losses = [&](int64_t segments) {
    AdapterTraining training(GetParam(), chosen_isa(), 0.1f);
    Family& family = training.family;
    Stepper stepper(*family.encoder, family.loss(), *training.optimizer, training.pool,
                    {.checkpoint_segments = segments});
    std::vector<double> out;
    for (size_t number = 0; number < 4; ++number) {
      const TrainingBatch batch = family.batch(number);
      out.push_back(stepper.accumulate(batch.sequences, batch.state));
      out.push_back(training.optimizer->step(training.rate(number), training.pool).grad_norm);
    }
    return out;
  };
  const std::vector<double> straight = losses(0);
  EXPECT_EQ(losses(1), straight);
  EXPECT_EQ(losses(2), straight);
}

TEST_P(LoraTraining, HalfPrecisionGivesTheGradientsRounded) {
  struct First {
    double loss;
    double norm;
  };
  const auto first = [&](DType dtype) {
    AdapterTraining training(GetParam(), chosen_isa());
    Family& family = training.family;
    Stepper stepper(*family.encoder, family.loss(), *training.optimizer, training.pool,
                    {.dtype = dtype});
    TrainingBatch batch = family.batch(1);  // in the first, one of RoBERTa's ReLUs flips
    const double scale = batch.state.loss_scale = dtype == DType::f16 ? 1024 : 1;
    const double loss = stepper.accumulate(batch.sequences, batch.state);
    return First{loss, training.optimizer->step(1e-3, training.pool, scale).grad_norm};
  };
  const First exact = first(DType::f32);
  const First coarse = first(DType::bf16);
  const First half = first(DType::f16);
  EXPECT_NEAR(coarse.loss, exact.loss, 2e-2 * exact.loss);
  EXPECT_NEAR(coarse.norm, exact.norm, 5e-2 * exact.norm);
  EXPECT_NEAR(half.loss, exact.loss, 2e-3 * exact.loss);
  EXPECT_NEAR(half.norm, exact.norm, 5e-3 * exact.norm);
  EXPECT_NE(coarse.loss, exact.loss);
  EXPECT_NE(half.loss, exact.loss);
}

TEST_P(LoraTraining, DropsWhatTheAdaptersRead) {
  const auto loss = [&](double dropout, uint64_t seed) {
    AdapterTraining training(GetParam(), chosen_isa());
    Family& family = training.family;
    const models::Adapter start(family.golden + "/start");
    nn::LoraOptions lora = start.options();
    lora.dropout = dropout;
    models::Encoder encoder(family.config(), DType::f32, chosen_isa(), true, lora);
    models::load_weights(encoder, *io::Weights::open(family.folder.path), training.pool,
                         {.adapter = &start});
    const auto optimizer = optim::Optimizer::make(encoder.parameters(), training.trainable, {});
    Stepper stepper(encoder, family.loss(), *optimizer, training.pool);
    TrainingBatch batch = family.batch(0);
    batch.state.seed = seed;
    return stepper.accumulate(batch.sequences, batch.state);
  };
  EXPECT_EQ(loss(0, 1), loss(0, 2));
  EXPECT_EQ(loss(0.5, 1), loss(0.5, 1));
  EXPECT_NE(loss(0.5, 1), loss(0.5, 2));
  EXPECT_NE(loss(0.5, 1), loss(0, 1));
}

INSTANTIATE_TEST_SUITE_P(Cases, LoraTraining, testing::ValuesIn(kAdapters), family_test_name);

TEST(LoraStart, AddsNothing) {
  Family family("bert-words");
  ThreadPool pool(2);
  const auto weights = io::Weights::open(family.folder.path);
  models::Encoder plain(family.config(), DType::f32, chosen_isa(), true);
  models::load_weights(plain, *weights, pool);
  models::Encoder adapted(family.config(), DType::f32, chosen_isa(), true,
                          nn::LoraOptions{.rank = 4, .targets = {"all-linear"}});
  const models::LoadReport report = models::load_weights(adapted, *weights, pool, {.head_seed = 3});
  EXPECT_TRUE(report.fresh.empty());
  EXPECT_EQ(logits_of(family, adapted, pool), logits_of(family, plain, pool));
}

}  // namespace
}  // namespace hone::train
