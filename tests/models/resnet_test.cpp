// ResNets of transformers, torchvision and of papers on CIFAR against PyTorch: the folders in
// resnets/ and their expected values are made by tests/parity/resnet_goldens.py.
#include "models/resnet.h"

#include <numeric>

#include "base/error.h"
#include "device/cuda.h"
#include "io/scratch.h"
#include "models/init.h"
#include "models/resnet_golden.h"
#include "models/save.h"
#include "nn/packed_rows.h"

namespace hone::models {
namespace {

using Rows = std::vector<std::vector<float>>;

Rows answers_of(Model& model, const data::Batch& batch, const OutputOptions& options,
                int threads = 2) {
  ThreadPool pool(threads);
  const Pass pass = model.record(options);
  Runner runner(pass.plan, model.weights_for(pass.shadows), pool);
  model.parameters().refresh(pool);
  runner.resize(batch.extents());
  pass.bind(batch, runner);
  runner.run();
  const float* values = runner.output<float>(pass.output);
  Rows rows;
  for (int64_t i = 0; i < batch.size(); ++i, values += pass.output.width) {
    rows.emplace_back(values, values + pass.output.width);
  }
  return rows;
}

std::vector<int64_t> all_images() {
  std::vector<int64_t> all(kMadeImages);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void expect_rows(const Rows& got, const Json& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), wanted[i].size());
    for (size_t k = 0; k < got[i].size(); ++k) {
      ASSERT_NEAR(got[i][k], wanted[i][k].get<double>(), tolerance) << "image " << i;
    }
  }
}

/// Gives the size of what `got` lacks of `wanted`, as a share of the size of that.
double relative_error(const Rows& got, const Rows& wanted) {
  double error = 0, size = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t k = 0; k < wanted[i].size(); ++k) {
      error += std::pow(wanted[i][k] - got[i][k], 2);
      size += std::pow(wanted[i][k], 2);
    }
  }
  return std::sqrt(error / size);
}

class ResNets : public testing::TestWithParam<const char*> {};

TEST_P(ResNets, AgreeWithPyTorchOnEveryInstructionSet) {
  const ResNetGolden golden(GetParam());
  const data::Batch batch = golden.batch(all_images());
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const ScopedIsa scoped(isa);
    for (const bool folds_norms : {false, true}) {
      const auto model = golden.model(isa, DType::f32, folds_norms);
      expect_rows(answers_of(*model, batch, {}), golden.json.at("logits"), 1e-5);
      expect_rows(answers_of(*model, batch, {.output = Output::embedding}),
                  golden.json.at("pooled"), 1e-5);
    }
  }
}

TEST_P(ResNets, AnImageAloneHasTheBitsThatItHasInABatch) {
  const ResNetGolden golden(GetParam());
  const data::Batch batch = golden.batch(all_images());
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const auto model = golden.model(isa, dtype, true);
      const Rows together = answers_of(*model, batch, {});
      EXPECT_EQ(answers_of(*model, batch, {}, 1), together);
      for (const int64_t i : all_images()) {
        EXPECT_EQ(answers_of(*model, golden.batch({i}), {}).front(),
                  together[static_cast<size_t>(i)])
            << isa_name(isa) << " " << dtype_name(dtype) << " image " << i;
      }
    }
  }
}

TEST_P(ResNets, Bf16FollowsFp32) {
  const ResNetGolden golden(GetParam());
  const data::Batch batch = golden.batch(all_images());
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    const Rows exact = answers_of(*golden.model(isa), batch, {});
    const Rows rounded = answers_of(*golden.model(isa, DType::bf16, true), batch, {});
    EXPECT_LT(relative_error(rounded, exact), 0.03) << isa_name(isa);
    EXPECT_NE(rounded, exact) << "bf16 gave fp32's bits: did it run?";
  }
}

TEST_P(ResNets, AgreeWithPyTorchOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  const ResNetGolden golden(GetParam());
  const data::Batch batch = golden.batch(all_images());
  const auto model = golden.model(Target::cuda());
  const Rows exact = answers_of(*model, batch, {});
  expect_rows(exact, golden.json.at("logits"), 3e-5);
  expect_rows(answers_of(*model, batch, {.output = Output::embedding}), golden.json.at("pooled"),
              3e-5);
  const Rows rounded = answers_of(*golden.model(Target::cuda(), DType::bf16), batch, {});
  EXPECT_LT(relative_error(rounded, exact), 0.03);
  EXPECT_NE(rounded, exact) << "bf16 gave fp32's bits: did it run?";
}

TEST_P(ResNets, WhatIsSavedIsWhatWasRead) {
  const ResNetGolden golden(GetParam());
  const auto source = io::Weights::open(golden.folder.path);
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    const auto model = golden.model(isa);
    const io::Scratch out;
    save_weights(*model, out.path());
    save_config(golden.folder.config_json, *model, out.path());
    const ModelFolder again = open_model_folder(out.path());
    EXPECT_EQ(again.config->summary(), golden.folder.config->summary());
    EXPECT_EQ(again.config_json.at("architectures"), Json({"ResNetForImageClassification"}));
    const auto saved = io::Weights::open(out.path());
    EXPECT_EQ(saved->tensors().size(), source->tensors().size());
    for (const nn::Parameter& parameter : model->parameters().list()) {
      const std::string& name = parameter.tensors.front();
      const io::TensorInfo* from = find_tensor(model->family(), *source, name);
      const io::TensorInfo* to = saved->find(checkpoint_name(model->family(), name));
      ASSERT_TRUE(from && to) << name;
      EXPECT_EQ(to->shape, from->shape) << name;
      std::vector<float> wanted(static_cast<size_t>(from->elements)), got(wanted.size());
      source->read(*from, 0, from->elements, wanted.data());
      saved->read(*to, 0, to->elements, got.data());
      EXPECT_EQ(got, wanted) << name;
    }
  }
}

TEST_P(ResNets, AStateDictTellsItsConfig) {
  const ResNetGolden golden(GetParam());
  if (is_bare(golden.folder)) {
    for (const auto& [field, value] : golden.json.at("config").items()) {
      EXPECT_EQ(golden.folder.config_json.at(field), value) << field;
    }
  }
  // What cannot be told of names and shapes: where a bottleneck has its stride.
  const std::string file =
      is_bare(golden.folder) ? golden.folder.path : golden.path + "/model.safetensors";
  const ModelFolder guessed = open_model_folder(file);
  const auto& got = dynamic_cast<const ResNetConfig&>(*guessed.config);
  const auto& wanted = dynamic_cast<const ResNetConfig&>(*golden.folder.config);
  EXPECT_EQ(got.hidden_sizes, wanted.hidden_sizes);
  EXPECT_EQ(got.depths, wanted.depths);
  EXPECT_EQ(got.stem, wanted.stem);
  EXPECT_EQ(got.shortcut, wanted.shortcut);
  EXPECT_EQ(got.bottleneck, wanted.bottleneck);
  EXPECT_EQ(got.labels.size(), wanted.labels.size());
  EXPECT_FALSE(got.downsample_in_bottleneck);
}

INSTANTIATE_TEST_SUITE_P(Folders, ResNets, testing::ValuesIn(kResNets), resnet_test_name);

ResNetConfig resnet_config(const Json& fields) {
  Json json = fields;
  json["model_type"] = "resnet";
  return dynamic_cast<const ResNetConfig&>(*read_model_config(json, "config.json"));
}

TEST(ResNetConfigs, DefaultsAreTransformers) {
  const ResNetConfig config = resnet_config(Json::object());
  EXPECT_EQ(config.depth(), 50);
  EXPECT_EQ(config.width(), 2048);
  EXPECT_TRUE(config.bottleneck);
  EXPECT_EQ(config.stem, ResNetConfig::Stem::imagenet);
}

TEST(ResNetConfigs, WhatCannotBeIsRefusedByName) {
  const auto refused = [](const Json& fields, const std::string& part) {
    try {
      resnet_config(fields);
      ADD_FAILURE() << fields.dump();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused({{"num_channels", 1}}, "num_channels");
  refused({{"hidden_sizes", {1 << 20}}}, "hidden_sizes");
  refused({{"hidden_sizes", Json::array()}}, "hidden_sizes");
  refused({{"hidden_sizes", {2, 3}}, {"depths", {1, 1}}}, "hidden_sizes: a bottleneck");
  refused({{"depths", {3, 4, 6}}}, "depths: expected one a stage");
  refused({{"depths", {3, 4, 6, 0}}}, "depths");
  refused({{"layer_type", "preact"}}, "layer_type: expected basic or bottleneck");
  refused({{"hidden_act", "gelu"}}, "hidden_act: expected relu");
  refused({{"stem", "deep"}}, "stem: expected imagenet or cifar");
  refused({{"shortcut", "padding"}, {"embedding_size", 300}}, "hidden_sizes: a padded shortcut");
}

TEST(ResNetModels, SayWhatTheyDoNotHave) {
  const ResNetConfig config = resnet_config({{"hidden_sizes", {8}}, {"depths", {1}}});
  EXPECT_THROW(ResNetModel(config, {.dtype = DType::f8, .target = chosen_isa()}), Error);
  EXPECT_THROW(ResNetModel(config, {.target = chosen_isa(), .lora = nn::LoraOptions{}}), Error);
  const ResNetModel model(config, {.target = chosen_isa()});
  EXPECT_THROW(model.record(OutputOptions{.output = Output::hidden}), Error);
  EXPECT_THROW(
      model.record(OutputOptions{.output = Output::embedding, .pooling = ops::Pooling::cls}),
      Error);
  EXPECT_THROW(model.record_training({}, std::vector<bool>(model.parameters().list().size(), true),
                                     {.checkpoint_segments = 2}),
               Error);
}

/// Gives a parameter as a checkpoint has it.
std::vector<float> tensor_of(const Model& model, const std::string& name) {
  std::vector<float> values;
  for (const nn::Parameter& parameter : model.parameters().list()) {
    if (parameter.tensors.front() != name) continue;
    nn::read_rows(parameter, weights_of(model)(parameter), 0, nn::row_count(parameter),
                  [&](int64_t, int64_t count, const float* rows) {
                    values.insert(values.end(), rows, rows + count * nn::row_width(parameter));
                  });
  }
  return values;
}

TEST(ResNetModels, StartAsTorchvisionsDo) {
  const ResNetConfig config =
      resnet_config({{"hidden_sizes", {64, 128}}, {"depths", {1, 1}}, {"layer_type", "basic"}});
  ResNetModel model(config, {.target = chosen_isa()});
  ThreadPool pool(2);
  init_random(model, 3, config.initializer_range, pool);
  const std::string layer = "encoder.stages.1.layers.0.layer.1.";
  double square = 0;
  const std::vector<float> weights = tensor_of(model, layer + "convolution.weight");
  for (const float value : weights) square += static_cast<double>(value) * value;
  EXPECT_NEAR(square / static_cast<double>(weights.size()) * 128 * 9 / 2, 1, 0.02);
  EXPECT_EQ(tensor_of(model, layer + "normalization.weight"), std::vector<float>(128, 1));
  EXPECT_EQ(tensor_of(model, layer + "normalization.bias"), std::vector<float>(128, 0));
  EXPECT_EQ(tensor_of(model, layer + "normalization.running_var"), std::vector<float>(128, 1));
  float most = 0;
  for (const float value : tensor_of(model, "classifier.1.weight")) {
    most = std::max(most, std::abs(value));
  }
  EXPECT_LE(most, 1 / std::sqrt(128.f));
  EXPECT_GT(most, 0.9f / std::sqrt(128.f));
}

}  // namespace
}  // namespace hone::models
