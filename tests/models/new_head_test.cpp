// A head that the checkpoint does not have, or has for other labels, is made new; nothing else is.
#include <gtest/gtest.h>

#include <cmath>

#include "io/scratch.h"
#include "models/encoder.h"
#include "models/encoder_config.h"
#include "models/load.h"
#include "models/save.h"

namespace hone::models {
namespace {

using io::error_of;
using io::Scratch;

ModelFolder golden(const std::string& name) {
  return open_model_folder(HONE_TEST_DIR "/goldens/" + name);
}

std::vector<float> tensor_of(const Encoder& encoder, const std::string& name) {
  const Scratch out;
  save_weights(encoder, out.path());
  const auto weights = io::Weights::open(out.path());
  const io::TensorInfo* tensor = weights->find(name);
  if (!tensor) return {};
  std::vector<float> values(static_cast<size_t>(tensor->elements));
  weights->read(*tensor, 0, tensor->elements, values.data());
  return values;
}

struct Loaded {
  std::unique_ptr<Encoder> encoder;
  LoadReport report;
};

Loaded load(const ModelFolder& folder, std::optional<uint64_t> seed) {
  ThreadPool pool(2);
  Loaded loaded;
  loaded.encoder =
      std::make_unique<Encoder>(encoder_config(folder), DType::f32, chosen_isa(), true);
  loaded.report =
      load_weights(*loaded.encoder, *io::Weights::open(folder.path), pool, {.head_seed = seed});
  return loaded;
}

std::vector<std::string> labels(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("label " + std::to_string(i));
  return names;
}

TEST(NewHead, IsNotMadeWhereThereIsOne) {
  const ModelFolder folder = golden("bert-words");
  const Loaded loaded = load(folder, 1);
  EXPECT_TRUE(loaded.report.fresh.empty());
  EXPECT_EQ(tensor_of(*loaded.encoder, "classifier.weight"),
            tensor_of(*load(folder, {}).encoder, "classifier.weight"));
}

TEST(NewHead, IsMadeForOtherLabelsBesideTheOldPooler) {
  ModelFolder folder = golden("bert-words");
  const Loaded old = load(folder, 1);
  folder.config->labels = labels(300);
  const Loaded loaded = load(folder, 1);
  EXPECT_EQ(loaded.report.fresh,
            (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(tensor_of(*loaded.encoder, "bert.pooler.dense.weight"),
            tensor_of(*old.encoder, "bert.pooler.dense.weight"));
  EXPECT_EQ(tensor_of(*loaded.encoder, "classifier.bias"), std::vector<float>(300, 0.f));
  const std::vector<float> weight = tensor_of(*loaded.encoder, "classifier.weight");
  double sum = 0;
  double squares = 0;
  for (const float value : weight) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(weight.size());
  const double std = folder.config->initializer_range;
  EXPECT_NEAR(sum / count, 0, 4 * std / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count), std, 0.05 * std);
  EXPECT_EQ(weight, tensor_of(*load(folder, 1).encoder, "classifier.weight"));
  EXPECT_NE(weight, tensor_of(*load(folder, 2).encoder, "classifier.weight"));
}

TEST(NewHead, IsMadeForABodyAlone) {
  const Loaded bert = load(golden("sentence-bert-mean"), 1);
  EXPECT_EQ(bert.report.fresh, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  const Loaded distilbert = load(golden("sentence-distilbert-cls"), 1);
  EXPECT_EQ(distilbert.report.fresh,
            (std::vector<std::string>{"pre_classifier.weight", "pre_classifier.bias",
                                      "classifier.weight", "classifier.bias"}));
}

TEST(NewHead, OfRobertaKeepsItsFirstLayer) {
  ModelFolder folder = golden("roberta-regression");
  folder.config->labels = labels(3);
  EXPECT_EQ(load(folder, 1).report.fresh,
            (std::vector<std::string>{"classifier.out_proj.weight", "classifier.out_proj.bias"}));
}

TEST(NewHead, IsAnErrorWithoutASeed) {
  ModelFolder folder = golden("bert-words");
  folder.config->labels = labels(7);
  EXPECT_NE(error_of([&] { load(folder, {}); }).find("classifier.weight has shape [2, 20]"),
            std::string::npos);
}

TEST(NewHead, LeavesAMisshapenBodyAnError) {
  ModelFolder folder = golden("bert-words");
  encoder_config(folder).intermediate_size += 1;
  EXPECT_NE(error_of([&] { load(folder, 1); }).find("intermediate.dense.weight has shape"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::models
