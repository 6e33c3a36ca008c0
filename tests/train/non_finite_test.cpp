// The first value that is not finite, by the model's own names.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "train/family_fixture.h"

namespace hone::train {
namespace {

struct Broken {
  explicit Broken(const std::string& name = "bert-words") : family(name) {
    family.load(chosen_isa());
    batch.emplace(family.batch(0));
  }
  float* weight(const std::string& tensor) {
    for (const nn::Parameter& parameter : family.parameters().list()) {
      if (parameter.tensors.front() == tensor) {
        return static_cast<float*>(family.parameters().data(parameter.weight));
      }
    }
    return nullptr;
  }
  std::string find(const models::TrainingOptions& options = {}) {
    const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
    Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, options);
    stepper.accumulate(batch->sequences, batch->state);
    const std::string found = stepper.first_non_finite();
    EXPECT_EQ(optimizer->step(0, pool).grad_norm, 0);
    return found;
  }

  ThreadPool pool{2};
  Family family;
  std::optional<TrainingBatch> batch;
};

TEST(NonFinite, NamesTheLayerAndTheWeight) {
  Broken broken;
  EXPECT_EQ(broken.find(), "");
  float* weight = broken.weight("encoder.layer.1.intermediate.dense.weight");
  ASSERT_NE(weight, nullptr);
  weight[5] = std::numeric_limits<float>::quiet_NaN();
  const std::string expected = "layer 1: linear of encoder.layer.1.intermediate.dense.weight";
  EXPECT_EQ(broken.find(), expected);
  EXPECT_EQ(broken.find({.dtype = DType::bf16}), expected);
  EXPECT_EQ(broken.find({.checkpoint_segments = 2}), expected);
}

TEST(NonFinite, NamesEmbeddings) {
  Broken broken;
  float* weight = broken.weight("embeddings.word_embeddings.weight");
  ASSERT_NE(weight, nullptr);
  const int32_t id = broken.batch->sequences.ids(0)[0];
  weight[id * broken.family.config().embedding_size] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(broken.find(), "embeddings: embedding of embeddings.word_embeddings.weight");
}

TEST(NonFinite, NamesTheLoss) {
  Broken broken("roberta-regression");
  broken.batch->sequences.targets.front() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(broken.find(), "loss: loss");
}

TEST(NonFinite, NamesTheBackwardPassOfHalfPrecision) {
  Broken broken;
  broken.batch->state.loss_scale = 1e8;
  const std::string last = std::to_string(broken.family.config().layers - 1);
  EXPECT_EQ(broken.find({.dtype = DType::f16}),
            "layer " + last + ": convert, in the backward pass");
  EXPECT_EQ(broken.find({.dtype = DType::bf16}), "");
}

}  // namespace
}  // namespace hone::train
