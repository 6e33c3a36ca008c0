// Adapters from outside: what does not fit is refused by name.
#include "models/adapter.h"

#include <gtest/gtest.h>

#include "io/safetensors_writer.h"
#include "io/scratch.h"
#include "models/encoder.h"
#include "models/encoder_config.h"
#include "models/freeze.h"
#include "models/init.h"
#include "models/load.h"
#include "models/save.h"

namespace hone::models {
namespace {

using io::error_of;
using io::Scratch;

const std::string kBase = HONE_TEST_DIR "/goldens/bert-words";
const std::string kQuery = "base_model.model.bert.encoder.layer.0.attention.self.query";

Json config() {
  return {{"peft_type", "LORA"}, {"base_model_name_or_path", kBase}, {"r", 4}, {"lora_alpha", 8}};
}

void write(const Scratch& folder, const Json& json, const std::vector<io::TensorSpec>& tensors,
           float value = 0.5f) {
  folder.write("adapter_config.json", json.dump());
  io::SafetensorsWriter writer(folder / "adapter_model.safetensors", tensors);
  for (const io::TensorSpec& tensor : writer.tensors()) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    writer.write(std::vector<float>(static_cast<size_t>(count), value).data(), count);
  }
  writer.commit();
}

std::vector<io::TensorSpec> pair(int64_t rank = 4, int64_t in = 20, int64_t out = 20) {
  return {{kQuery + ".lora_A.weight", DType::f32, {rank, in}},
          {kQuery + ".lora_B.weight", DType::f32, {out, rank}}};
}

/// Opens the folder as a model and loads it.
std::string outcome(const Scratch& scratch, bool head = true) {
  return error_of([&] {
    const ModelFolder folder = open_model_folder(scratch.path());
    const auto adapter = open_adapter(folder);
    ThreadPool pool(1);
    Encoder encoder(encoder_config(folder), DType::f32, chosen_isa(), head);
    load_weights(encoder, *io::Weights::open(folder.path), pool, {.adapter = adapter.get()});
  });
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(BadAdapter, GoodOnesLoad) {
  const Scratch folder;
  write(folder, config(), pair());
  EXPECT_EQ(outcome(folder), "no error");
}

TEST(BadAdapter, KindsThatComputeSomethingElseAreRefusedByField) {
  for (const auto& [field, value] :
       std::vector<std::pair<std::string, Json>>{{"peft_type", "IA3"},
                                                 {"use_dora", true},
                                                 {"lora_bias", true},
                                                 {"alpha_pattern", {{"query", 2}}},
                                                 {"layer_replication", {{0, 1}}},
                                                 {"init_lora_weights", "pissa"},
                                                 {"r", 0},
                                                 {"r", "4"},
                                                 {"r", 1e9},
                                                 {"lora_alpha", "eight"},
                                                 {"base_model_name_or_path", nullptr}}) {
    const Scratch folder;
    Json json = config();
    json[field] = value;
    write(folder, json, pair());
    expect_contains(outcome(folder), "adapter_config.json: " + field);
  }
}

TEST(BadAdapter, ShapesMustFit) {
  const auto with = [](const std::vector<io::TensorSpec>& tensors, float value = 0.5f) {
    const Scratch folder;
    write(folder, config(), tensors, value);
    return outcome(folder);
  };
  expect_contains(with(pair(4, 21)), "its shapes do not fit");
  expect_contains(with(pair(4, 20, 19)), "its shapes do not fit");
  expect_contains(with(pair(0)), "its shapes do not fit");
  expect_contains(with(pair(5)), "has rank 5, adapter_config.json says 4");
  expect_contains(with({pair()[0]}), "has no lora_B");
  expect_contains(with({pair()[1]}), "has no lora_A");
  expect_contains(with(pair(), INFINITY), "not finite");
  const std::string stray = "base_model.model.bert.encoder.layer.9.attention.self.query";
  expect_contains(with({{stray + ".lora_A.weight", DType::f32, {4, 20}}}),
                  stray + ".lora_A.weight has no place in the model");
  expect_contains(with({{kQuery + ".lora_magnitude_vector", DType::f32, {20}}}),
                  "has no place in the model");
  expect_contains(with({{"base_model.model.bert.pooler.dense.bias", DType::f32, {3}}}),
                  "has shape [3]");
}

TEST(BadAdapter, AnEmptyHeadDoesNotClaimLabels) {
  const Scratch folder;
  write(folder, config(),
        {{"base_model.model.classifier.weight", DType::f32, {int64_t{1} << 40, 0}}});
  expect_contains(outcome(folder), "classifier.weight has shape [1099511627776, 0]");
}

TEST(BadAdapter, OfAnAdapterOrOfNothing) {
  const Scratch inner;
  write(inner, config(), pair());
  const Scratch outer;
  Json json = config();
  json["base_model_name_or_path"] = inner.path();
  write(outer, json, pair());
  expect_contains(outcome(outer), "is an adapter itself");
  json["base_model_name_or_path"] = "/no/such/folder";
  write(outer, json, pair());
  expect_contains(outcome(outer), "adapter_config.json: base_model_name_or_path: no folder");
  std::filesystem::remove(outer / "adapter_model.safetensors");
  expect_contains(outcome(outer), "adapter_model.safetensors");
}

TEST(Adapter, HeadOfOtherLabelsComesWithIt) {
  const Scratch folder;
  std::vector<io::TensorSpec> tensors = pair();
  tensors.push_back({"base_model.model.classifier.weight", DType::f32, {5, 20}});
  tensors.push_back({"base_model.model.classifier.bias", DType::f32, {5}});
  write(folder, config(), tensors);
  EXPECT_EQ(open_model_folder(folder.path()).config->labels.size(), 5u);
  EXPECT_EQ(outcome(folder), "no error");
  EXPECT_EQ(outcome(folder, false), "no error");  // an encoder alone leaves the head
}

TEST(Adapter, RankStabilisedScaleDividesByTheRoot) {
  const Scratch folder;
  Json json = config();
  json["use_rslora"] = true;
  write(folder, json, pair());
  const Adapter adapter(folder.path());
  const auto delta = adapter.delta(family_of(*open_model_folder(kBase).config),
                                   "encoder.layer.0.attention.self.query.weight", {20, 20});
  ASSERT_NE(delta, nullptr);
  EXPECT_FLOAT_EQ(delta->scale, 4.f);
  std::vector<float> rows(40, 1.f);
  delta->add(3, 2, rows.data());
  for (const float value : rows) EXPECT_FLOAT_EQ(value, 1 + 4 * 4 * 0.25f);
}

Encoder with_lora(const nn::LoraOptions& options) {
  return {encoder_config(open_model_folder(kBase)), DType::f32, chosen_isa(), true, options};
}

TEST(LoraOptions, MistakesNameTheFlag) {
  const auto error = [](const nn::LoraOptions& options) {
    return error_of([&] { with_lora(options); });
  };
  expect_contains(error({.rank = 0}), "lora.rank: expected 1 to");
  expect_contains(error({.alpha = 0}), "lora.alpha");
  expect_contains(error({.dropout = 1}), "lora.dropout");
  expect_contains(error({.targets = {"query", "q_lin"}}),
                  "lora.targets: no linear layer is called 'q_lin'; there are query, key, "
                  "value, dense");
  expect_contains(error({.targets = {"classifier"}}), "no linear layer is called 'classifier'");
  expect_contains(error({.targets = {"all-linear", "query"}}), "all-linear stands alone");
}

std::vector<std::string> trained(const Encoder& encoder, const std::vector<bool>& trainable) {
  std::vector<std::string> names;
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    if (!trainable[static_cast<size_t>(parameter.weight.slot)]) continue;
    for (const std::string& name : parameter.tensors) {
      names.push_back(checkpoint_name(encoder.family(), name));
    }
  }
  return names;
}

TEST(LoraOptions, TrainTheAdaptersAndTheHead) {
  const Encoder encoder = with_lora({.targets = {"layer.1.attention.self.value"}});
  const std::string value = "bert.encoder.layer.1.attention.self.value";
  EXPECT_EQ(trained(encoder, trainable_slots(encoder, "")),
            (std::vector<std::string>{value + ".lora_A.weight", value + ".lora_B.weight",
                                      "classifier.weight", "classifier.bias"}));
  EXPECT_EQ(trained(encoder, trainable_slots(encoder, "classifier.*")).size(), 2u);
}

/// A pooler that the checkpoint lacks is trained, saved and found again.
TEST(LoraOptions, ANewPoolerGoesWithTheAdapter) {
  const Scratch base;
  ModelFolder folder = open_model_folder(kBase);
  ThreadPool pool(1);
  Encoder body(encoder_config(folder), DType::f32, chosen_isa(), false);
  init_random(body, 1, 0.02f, pool);
  save_weights(body, base.path());
  save_config(folder.config_json, body, base.path());
  const auto weights = io::Weights::open(base.path());

  Encoder encoder = with_lora({});
  const LoadReport report = load_weights(encoder, *weights, pool, {.head_seed = 1});
  EXPECT_EQ(report.fresh.size(), 4u);
  const LoadReport preview = preview_load(with_lora({}), *weights, {.head_seed = 1});
  EXPECT_EQ(preview.fresh, report.fresh);
  EXPECT_EQ(preview.added, report.added);
  const std::vector<bool> trainable = trainable_slots(encoder, "", report.added);
  EXPECT_EQ(trained(encoder, trainable).size(), 12u);
  const Scratch out;
  save_adapter(encoder, trainable, base.path(), out.path());
  const Json json = parse_json(io::bytes_of(out / "adapter_config.json"), "adapter_config.json");
  EXPECT_EQ(json.at("modules_to_save"), (Json{"classifier", "score", "pooler"}));

  const Adapter adapter(out.path());
  Encoder again = with_lora(adapter.options());
  const LoadReport second = load_weights(again, *weights, pool, {.adapter = &adapter});
  EXPECT_TRUE(second.fresh.empty());
  EXPECT_EQ(trainable_slots(again, "", second.added), trainable);

  Encoder dense = with_lora({.targets = {"dense"}});
  const LoadReport third = load_weights(dense, *weights, pool, {.head_seed = 1});
  expect_contains(error_of([&] { trainable_slots(dense, "", third.added); }),
                  "bert.pooler.dense.weight is new");
}

}  // namespace
}  // namespace hone::models
