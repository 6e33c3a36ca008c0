// A pass in parts gives what a pass in one gives, bit for bit, whoever leaves on the way.
#include "infer/layerwise_forward.h"

#include <gtest/gtest.h>

#include <map>

#include "infer/nine_sequences.h"
#include "infer/session.h"
#include "models/load.h"

namespace hone::infer {
namespace {

struct LayeredCase {
  const char* model;
  DType dtype;
};

class LayeredPass : public testing::TestWithParam<LayeredCase> {};

TEST_P(LayeredPass, HasTheBitsOfTheWhole) {
  const auto& [name, dtype] = GetParam();
  SessionOptions options;
  options.dtype = dtype;
  options.threads = 2;
  Session session(kModels + name, options);
  const models::TextBatch batch = nine_sequences(session.config());
  const float* whole = session.forward(batch);
  const auto width = static_cast<size_t>(session.output_width());
  const auto model = models::make_model(session.config(), {dtype, chosen_isa(), true, {}});
  models::load_weights(*model, *io::Weights::open(kModels + name), session.pool());
  LayerwiseForward layerwise(*model, {}, session.pool());
  int64_t rows = 0;
  LayerwiseForward::Hooks hooks;
  hooks.finish = [&](int64_t sequence, std::span<const float> row) {
    ASSERT_EQ(row.size(), width);
    for (size_t i = 0; i < width; ++i) {
      EXPECT_EQ(row[i], whole[static_cast<size_t>(sequence) * width + i]) << sequence;
    }
    ++rows;
  };
  layerwise.run(batch, hooks);
  EXPECT_EQ(rows, batch.sequences());
  EXPECT_EQ(layerwise.parts(), static_cast<size_t>(session.config().depth()) + 1);
}

INSTANTIATE_TEST_SUITE_P(Models, LayeredPass,
                         testing::Values(LayeredCase{"bert-words", DType::f32},
                                         LayeredCase{"bert-words", DType::bf16},
                                         LayeredCase{"bert-words", DType::i8},
                                         LayeredCase{"roberta-regression", DType::f32},
                                         LayeredCase{"albert-groups", DType::f32},
                                         LayeredCase{"albert-groups", DType::i8}),
                         [](const auto& test) {
                           std::string text = test.param.model;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text + "_" + std::string(dtype_name(test.param.dtype));
                         });

}  // namespace
}  // namespace hone::infer
