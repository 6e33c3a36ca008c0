// A pass in parts gives what a pass in one gives, bit for bit, whoever leaves on the way.
#include "infer/layered.h"

#include <gtest/gtest.h>

#include <map>

#include "infer/session.h"

namespace hone::infer {
namespace {

const std::string kModels = HONE_TEST_DIR "/../models/goldens/";

/// Sequences of 1 to 9 tokens.
models::Batch make_batch(const models::EncoderConfig& config) {
  models::Batch batch(config);
  for (int32_t length = 1; length <= 9; ++length) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < length; ++i) {
      ids.push_back(3 + (7 * length + 5 * i) % (static_cast<int32_t>(config.vocab_size) - 3));
    }
    batch.add(ids);
  }
  return batch;
}

struct Case {
  const char* model;
  DType dtype;
};

class LayeredPass : public testing::TestWithParam<Case> {};

TEST_P(LayeredPass, HasTheBitsOfTheWhole) {
  const auto& [name, dtype] = GetParam();
  SessionOptions options;
  options.dtype = dtype;
  options.threads = 2;
  Session session(kModels + name, options);
  const models::Batch batch = make_batch(session.config());
  const float* whole = session.forward(batch);
  const auto width = static_cast<size_t>(session.output_width());
  Layered layered(session.encoder(), {}, session.encoder().parameters().pointers(), session.pool());
  int64_t rows = 0;
  Layered::Hooks hooks;
  hooks.finish = [&](int64_t sequence, std::span<const float> row) {
    ASSERT_EQ(row.size(), width);
    for (size_t i = 0; i < width; ++i) {
      EXPECT_EQ(row[i], whole[static_cast<size_t>(sequence) * width + i]) << sequence;
    }
    ++rows;
  };
  layered.run(batch, hooks);
  EXPECT_EQ(rows, batch.sequences());
  EXPECT_EQ(layered.parts(), static_cast<size_t>(session.config().depth()) + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Models, LayeredPass,
    testing::Values(Case{"bert-words", DType::f32}, Case{"bert-words", DType::bf16},
                    Case{"bert-words", DType::i8}, Case{"roberta-regression", DType::f32},
                    Case{"albert-groups", DType::f32}, Case{"albert-groups", DType::i8}),
    [](const auto& test) {
      std::string text = test.param.model;
      std::replace(text.begin(), text.end(), '-', '_');
      return text + "_" + std::string(dtype_name(test.param.dtype));
    });

}  // namespace
}  // namespace hone::infer
