// What a model saves is what transformers saved: the same names, shapes and bits.
#include "models/save.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/scratch.h"
#include "models/encoder.h"
#include "models/encoder_config.h"
#include "models/int8.h"
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
    const bool head = has_head_weights(family_of(*folder.config), *source);
    Encoder encoder(encoder_config(folder), DType::f32, isa, head);
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
    EXPECT_EQ(again.config->labels, folder.config->labels);
    EXPECT_EQ(again.config->problem, folder.config->problem);
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
  folder.config->labels = {"bad", "so so", "good"};
  folder.config->problem = ProblemType::multi_label;
  const Encoder encoder(encoder_config(folder), DType::f32, chosen_isa(), true);
  folder.config_json["quantization_config"] = int8_entry({}, {});
  const Json json = config_for_saving(folder.config_json, encoder);
  const EncoderConfig config = read_config(json, "config.json");
  EXPECT_EQ(config.labels, folder.config->labels);
  EXPECT_EQ(config.problem, ProblemType::multi_label);
  EXPECT_FALSE(json.contains("num_labels"));
  EXPECT_FALSE(json.contains("torch_dtype"));
  EXPECT_FALSE(config.quantization.stored);  // fp32 is what is saved
  EXPECT_EQ(json.at("hidden_size"), folder.config_json.at("hidden_size"));
}

}  // namespace
}  // namespace hone::models
