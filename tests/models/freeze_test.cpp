#include "models/freeze.h"

#include <gtest/gtest.h>

#include <set>

#include "io/scratch.h"
#include "models/encoder.h"
#include "models/encoder_config.h"

namespace hone::models {
namespace {

using io::error_of;

Encoder encoder_of(const std::string& name) {
  return {encoder_config(open_model_folder(HONE_TEST_DIR "/goldens/" + name)), DType::f32,
          chosen_isa(), true};
}

std::set<std::string> frozen(const Encoder& encoder, const std::string& patterns) {
  const std::vector<bool> trainable = trainable_slots(encoder, patterns);
  std::set<std::string> names;
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    if (trainable[static_cast<size_t>(parameter.weight.slot)]) continue;
    for (const std::string& name : parameter.tensors) {
      names.insert(checkpoint_name(encoder.family(), name));
    }
  }
  return names;
}

TEST(Freeze, NothingByDefault) { EXPECT_TRUE(frozen(encoder_of("bert-words"), "").empty()); }

TEST(Freeze, TakesShellPatternsOverWholeNames) {
  const Encoder encoder = encoder_of("bert-words");
  EXPECT_EQ(
      frozen(encoder, "bert.embeddings.*"),
      (std::set<std::string>{
          "bert.embeddings.word_embeddings.weight", "bert.embeddings.position_embeddings.weight",
          "bert.embeddings.token_type_embeddings.weight", "bert.embeddings.LayerNorm.weight",
          "bert.embeddings.LayerNorm.bias"}));
  EXPECT_EQ(frozen(encoder, "classifier.weight,*.pooler.dense.bia?"),
            (std::set<std::string>{"classifier.weight", "bert.pooler.dense.bias"}));
  EXPECT_EQ(frozen(encoder, "*.layer.[0-3].output.dense.weight").size(), 2u);
  EXPECT_EQ(frozen(encoder, "*.key.*,*.value.*").size(), 8u);
}

TEST(Freeze, RefusesAPatternThatMatchesNothing) {
  const std::string error =
      error_of([] { trainable_slots(encoder_of("bert-words"), "bert.*,embeddings.*"); });
  EXPECT_EQ(error.find("freeze: 'embeddings.*' matches no weight"), 0u) << error;
}

TEST(Freeze, RefusesHalfAMatrix) {
  const std::string error = error_of([] { trainable_slots(encoder_of("bert-words"), "*.key.*"); });
  EXPECT_EQ(error.find("freeze: bert.encoder.layer.0.attention.self.key.weight cannot be frozen "
                       "without bert.encoder.layer.0.attention.self.value.weight"),
            0u)
      << error;
}

TEST(Freeze, RefusesEverything) {
  const std::string error = error_of([] { trainable_slots(encoder_of("distilbert-fp16"), "*"); });
  EXPECT_EQ(error, "freeze: '*' leaves nothing to train");
}

}  // namespace
}  // namespace hone::models
