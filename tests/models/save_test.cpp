// What a model saves is what transformers saved: the same names, shapes and bits.
#include "models/save.h"
#include "models/int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "io/scratch.h"
#include "models/folder.h"
#include "models/load.h"

namespace hone::models {
namespace {

using io::Scratch;

std::vector<float> values_of(const io::Weights& weights, const io::TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  weights.read(tensor, 0, tensor.elements, values.data());
  return values;
}

class Save : public testing::TestWithParam<const char*> {};

TEST_P(Save, WritesTheFileThatItRead) {
  const ModelFolder folder = open_model_folder(HONE_TEST_DIR "/goldens/" + std::string(GetParam()));
  const auto source = io::Weights::open(folder.path);
  ThreadPool pool(2);
  for (const Isa isa : available_isas()) {
    const bool head = has_head_weights(family_of(folder.config), *source);
    Encoder encoder(folder.config, DType::f32, isa, head);
    load_weights(encoder, *source, pool);
    const Scratch out;
    save_weights(encoder, out.path());
    save_config(folder.config_json, encoder, out.path());

    const auto saved = io::Weights::open(out.path());
    ASSERT_EQ(saved->tensors().size(), source->tensors().size());
    for (const io::TensorInfo& tensor : source->tensors()) {
      const io::TensorInfo* copy = saved->find(tensor.name);
      ASSERT_NE(copy, nullptr) << tensor.name;
      EXPECT_EQ(copy->shape, tensor.shape) << tensor.name;
      EXPECT_EQ(copy->dtype, DType::f32) << tensor.name;
      EXPECT_EQ(values_of(*saved, *copy), values_of(*source, tensor)) << tensor.name;
    }
    const ModelFolder again = open_model_folder(out.path());
    EXPECT_EQ(again.config_json.at("architectures"), folder.config_json.at("architectures"));
    EXPECT_EQ(again.config.labels, folder.config.labels);
    EXPECT_EQ(again.config.problem, folder.config.problem);
    EXPECT_EQ(again.config_json.at("dtype"), "float32");
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Save,
                         testing::Values("bert-words", "roberta-regression",
                                         "xlm-roberta-multi-label", "distilbert-learned",
                                         "distilbert-fp16", "xlm-roberta-bf16", "albert-groups",
                                         "albert-wide-embedding", "bert-sharded"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Save, ConfigSaysTheNewLabels) {
  ModelFolder folder = open_model_folder(HONE_TEST_DIR "/goldens/bert-words");
  folder.config_json["num_labels"] = 2;
  folder.config_json["torch_dtype"] = "float16";
  folder.config.labels = {"bad", "so so", "good"};
  folder.config.problem = ProblemType::multi_label;
  const Encoder encoder(folder.config, DType::f32, chosen_isa(), true);
  folder.config_json["quantization_config"] = int8_entry({}, {});
  const Json json = config_for_saving(folder.config_json, encoder);
  const EncoderConfig config = read_config(json, "config.json");
  EXPECT_EQ(config.labels, folder.config.labels);
  EXPECT_EQ(config.problem, ProblemType::multi_label);
  EXPECT_FALSE(json.contains("num_labels"));
  EXPECT_FALSE(json.contains("torch_dtype"));
  EXPECT_FALSE(config.quantization.stored);  // fp32 is what is saved
  EXPECT_EQ(json.at("hidden_size"), folder.config_json.at("hidden_size"));
}

TEST(Rows, ComeBackAsTheyWereStored) {
  for (const Isa isa : available_isas()) {
    nn::Parameters parameters(isa);
    parameters.matrix({"a", "b"}, 70, 37, DType::f32);
    parameters.matrix({"long"}, 300, 1031, DType::f32);  // in several pieces
    parameters.table("c", 5, 3, DType::f32);
    parameters.vector({"d"}, 7);
    parameters.allocate();
    for (const nn::Parameter& parameter : parameters.list()) {
      const int64_t width = row_width(parameter);
      const auto packed = static_cast<size_t>(parameters.elements(parameter.weight));
      // As a moment would be: another array of the same layout.
      Buffer moment(packed * sizeof(float));
      store_rows(parameter, {isa, DType::f32, moment.data()},
                 [&](int64_t first, int64_t count, float* out) {
                   std::iota(out, out + count * width, static_cast<float>(first * width));
                 });
      const int64_t rows = row_count(parameter);
      for (const auto& [begin, end] :
           {std::pair<int64_t, int64_t>{0, rows}, {rows / 2, rows}, {1, rows - 1}}) {
        float expected = static_cast<float>(begin * width);
        int64_t next = begin;
        read_rows(parameter, {isa, DType::f32, moment.data()}, begin, end,
                  [&](int64_t first, int64_t count, const float* out) {
                    EXPECT_EQ(first, next);
                    next += count;
                    for (int64_t i = 0; i < count * width; ++i) ASSERT_EQ(out[i], expected++);
                  });
        EXPECT_EQ(next, end);
      }
    }
  }
}

/// What bytes stand for gives the same bytes again, in matrices and in tables.
TEST(Rows, OfBytesStayAsTheyAre) {
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    nn::Parameters parameters(isa);
    parameters.matrix({"a", "b"}, 70, 37, DType::i8);
    parameters.table("c", 5, 3, DType::i8);
    parameters.allocate();
    for (const nn::Parameter& parameter : parameters.list()) {
      const int64_t width = row_width(parameter);
      const ConstPackedArray stored{isa, DType::i8, parameters.data(parameter.weight)};
      store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        for (int64_t i = 0; i < count * width; ++i) {
          out[i] = std::sin(static_cast<float>(first * width + i));
        }
      });
      std::vector<float> once;
      const auto keep = [&](std::vector<float>& all) {
        read_rows(parameter, stored, 0, row_count(parameter),
                  [&](int64_t, int64_t count, const float* rows) {
                    all.insert(all.end(), rows, rows + count * width);
                  });
      };
      keep(once);
      for (size_t i = 0; i < once.size(); ++i) {
        ASSERT_NEAR(once[i], std::sin(static_cast<float>(i)), 0.5 / 127) << "at " << i;
      }
      store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        std::copy_n(once.begin() + first * width, count * width, out);
      });
      std::vector<float> twice;
      keep(twice);
      EXPECT_EQ(once, twice);
    }
  }
}

}  // namespace
}  // namespace hone::models
