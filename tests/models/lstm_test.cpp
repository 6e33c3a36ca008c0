#include "models/lstm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "device/cuda.h"
#include "models/init.h"
#include "nn/packed_rows.h"

namespace hone::models {
namespace {

LstmConfig lstm_config(const Json& fields) {
  Json json = fields;
  json["model_type"] = "lstm";
  return dynamic_cast<const LstmConfig&>(*read_model_config(json, "config.json"));
}

void expect_bad_field(const Json& fields, const std::string& part) {
  try {
    lstm_config(fields);
    ADD_FAILURE() << fields.dump();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(LstmConfigs, DefaultsAreTheReference) {
  const LstmConfig config = lstm_config(Json::object());
  EXPECT_EQ(config.vocab_size, 10002);
  EXPECT_EQ(config.max_length, 100);
  EXPECT_EQ(config.embedding_size, 100);
  EXPECT_EQ(config.hidden_size, 32);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.dropout, 0.5f);
  EXPECT_FALSE(config.padded_rows);
  EXPECT_EQ(config.outputs(), 1);
}

TEST(LstmConfigs, WhatAsksForTooMuchIsRefused) {
  expect_bad_field({{"hidden_size", 1 << 20}}, "hidden_size");
  expect_bad_field({{"num_layers", 0}}, "num_layers");
  expect_bad_field({{"vocab_size", 1}}, "vocab_size");
  expect_bad_field({{"max_length", -1}}, "max_length");
  expect_bad_field({{"dropout", 1.0}}, "dropout");
  expect_bad_field({{"last", "first"}}, "last: expected text or padded_row");
  expect_bad_field({{"pad_token_id", 5}}, "pad_token_id");
}

TEST(LstmModels, SayWhatTheyDoNotHave) {
  const LstmConfig config = lstm_config(Json::object());
  const auto refused = [&](const MakeOptions& options) {
    EXPECT_THROW(LstmModel(config, options), Error);
  };
  refused({.dtype = DType::i8, .target = chosen_isa()});
  refused({.target = chosen_isa(), .lora = nn::LoraOptions{}});
}

/// The rows of a parameter, as a checkpoint has them.
std::vector<float> rows_of(const LstmModel& model, const std::string& name) {
  for (const nn::Parameter& parameter : model.parameters().list()) {
    if (parameter.tensors.front() != name) continue;
    const Weight& weight = parameter.weight;
    std::vector<float> values;
    nn::read_rows(parameter,
                  {model.parameters().isa(), weight.dtype,
                   model.parameters().pointers()[static_cast<size_t>(weight.slot)]},
                  0, nn::row_count(parameter), [&](int64_t, int64_t count, const float* rows) {
                    values.insert(values.end(), rows, rows + count * nn::row_width(parameter));
                  });
    return values;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(LstmModels, StartAsTorchsModulesDo) {
  const LstmConfig config = lstm_config({{"vocab_size", 500}});
  LstmModel model(config, {.target = chosen_isa()});
  ThreadPool pool(2);
  init_random(model, 3, config.initializer_range, pool);
  const std::vector<float> words = rows_of(model, "embedding.weight");
  double square = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i < 100) {
      EXPECT_EQ(words[i], 0) << "the padding's row";
    }
    square += static_cast<double>(words[i]) * words[i];
  }
  EXPECT_NEAR(square / static_cast<double>(words.size() - 100), 1, 0.05);
  const float bound = 1 / std::sqrt(32.f);
  for (const char* name : {"lstm.weight_ih_l0", "lstm.weight_hh_l1", "lstm.bias_ih_l0",
                           "lstm.bias_hh_l1", "dense.weight", "dense.bias", "out.weight"}) {
    SCOPED_TRACE(name);
    float most = 0;
    for (const float value : rows_of(model, name)) most = std::max(most, std::abs(value));
    EXPECT_LE(most, bound);
    EXPECT_GT(most, 0.8f * bound);
  }
  EXPECT_NE(rows_of(model, "lstm.bias_ih_l0"), rows_of(model, "lstm.bias_hh_l0"));
}

/// Texts of many lengths, one behind the other.
std::vector<std::vector<int32_t>> random_texts(int64_t vocabulary, int count) {
  std::mt19937 random(9);
  std::vector<std::vector<int32_t>> texts;
  for (int i = 0; i < count; ++i) {
    texts.emplace_back(1 + random() % 20);
    for (int32_t& id : texts.back()) id = static_cast<int32_t>(random() % vocabulary);
  }
  return texts;
}

std::vector<std::vector<float>> answers(LstmModel& model,
                                        const std::vector<std::vector<int32_t>>& texts,
                                        const OutputOptions& options) {
  ThreadPool pool(2);
  const Pass pass = model.record(options);
  Runner runner(pass.plan, model.weights_for(pass.shadows), pool);
  model.parameters().refresh(pool);
  data::Batch batch(data::text_layout());
  for (const auto& text : texts) data::append_tokens(model.config().limits(), text, {}, 0, batch);
  runner.resize(batch.extents());
  pass.bind(batch, runner);
  runner.run();
  std::vector<std::vector<float>> rows;
  const auto width = static_cast<size_t>(pass.output.width);
  const float* values = runner.output<float>(pass.output);
  for (size_t i = 0; i < texts.size(); ++i, values += width)
    rows.emplace_back(values, values + width);
  return rows;
}

class LstmOutputs : public testing::TestWithParam<OutputOptions> {};

TEST_P(LstmOutputs, DoNotDependOnTheBatch) {
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const LstmConfig config = lstm_config({{"vocab_size", 40}, {"hidden_size", 19}});
      LstmModel model(config, {.dtype = dtype, .target = isa});
      ThreadPool pool(2);
      init_random(model, 3, config.initializer_range, pool);
      const auto texts = random_texts(config.vocab_size, 33);
      const auto together = answers(model, texts, GetParam());
      for (size_t i = 0; i < texts.size(); ++i) {
        ASSERT_EQ(answers(model, {texts[i]}, GetParam()).front(), together[i]) << isa_name(isa);
      }
    }
  }
}

TEST_P(LstmOutputs, FollowTheProcessorOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  const LstmConfig config = lstm_config({{"vocab_size", 40}});
  LstmModel cpu(config, {.target = chosen_isa()}), gpu(config, {.target = Target::cuda()});
  ThreadPool pool(2);
  init_random(cpu, 3, config.initializer_range, pool);
  init_random(gpu, 3, config.initializer_range, pool);
  const auto texts = random_texts(config.vocab_size, 33);
  const auto wanted = answers(cpu, texts, GetParam());
  const auto got = answers(gpu, texts, GetParam());
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t k = 0; k < wanted[i].size(); ++k) ASSERT_NEAR(got[i][k], wanted[i][k], 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LstmOutputs,
                         testing::Values(OutputOptions{},
                                         OutputOptions{.output = Output::embedding,
                                                       .pooling = ops::Pooling::mean},
                                         OutputOptions{.output = Output::embedding,
                                                       .pooling = ops::Pooling::cls,
                                                       .normalize = true}));

}  // namespace
}  // namespace hone::models
