// What a model can be loaded with through the public interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "device/cuda.h"
#include "hone/hone.h"
#include "infer/exiting_folder.h"
#include "io/scratch.h"

namespace hone {
namespace {

const std::string kLoaded = HONE_TEST_DIR "/../models/goldens/bert-words";
const std::vector<Text> kThree = {"the film is great", "the movie was not good", "a"};

std::string refusal(const std::string& model, const ModelOptions& options) {
  try {
    Model::load(model, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "loaded";
}

bool has_op(const std::vector<TimeSpent>& times, const std::string& name) {
  return std::any_of(times.begin(), times.end(), [&](const TimeSpent& time) {
    return time.name == name && time.calls > 0 && time.seconds > 0;
  });
}

TEST(ApiOptions, PoolAndNormalizeVectors) {
  const Json row = parse_json(read_file(kLoaded + "/goldens.json"), "goldens").at("texts")[0];
  const auto embed = [&](Pooling pooling, std::optional<bool> normalize) {
    ModelOptions options;
    options.use = Use::embed;
    options.pooling = pooling;
    options.normalize = normalize;
    const Model model = Model::load(kLoaded, options);
    const Embeddings started = model.start_embed({row.at("text").get<std::string>()}).get();
    EXPECT_EQ(model.embed({row.at("text").get<std::string>()}), started);
    return started.front();
  };
  const auto expect_near = [](const std::vector<float>& got, const Json& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i].get<double>(), 1e-5);
  };
  expect_near(embed(Pooling::automatic, {}), row.at("mean"));
  expect_near(embed(Pooling::mean, false), row.at("mean"));
  expect_near(embed(Pooling::cls, {}), row.at("first"));
  EXPECT_NE(embed(Pooling::max, {}), embed(Pooling::mean, {}));
  double length = 0;
  for (const float value : embed(Pooling::mean, true)) length += std::pow(value, 2);
  EXPECT_NEAR(length, 1, 1e-6);
}

TEST(ApiOptions, AMemoryBudgetChangesNoAnswer) {
  const Predictions free = Model::load(kLoaded).predict(kThree);
  ModelOptions options;
  options.memory_budget = uint64_t{4} << 30;
  options.time_ops = true;
  const Model model = Model::load(kLoaded, options);
  const Predictions bound = model.predict(kThree);
  for (size_t i = 0; i < free.size(); ++i) EXPECT_EQ(bound[i].scores, free[i].scores);
  EXPECT_TRUE(has_op(model.times(), "linear"));
  options.memory_budget = 1;
  EXPECT_NE(refusal(kLoaded, options).find("memory_budget: 0.0 MB is too little"),
            std::string::npos);
}

TEST(ApiOptions, ExitsAreTakenAsAskedAndTimed) {
  const io::Scratch folder;
  const std::string path = folder.path() + "/exits";
  infer::write_exiting_folder("bert-words", "pabee", {{"num_hidden_layers", 6}}, path);
  ModelOptions options;
  options.time_ops = true;
  const auto most_layers = [&](const Predictions& answers) {
    int64_t most = 0;
    for (const Prediction& answer : answers) most = std::max(most, answer.layers);
    return most;
  };
  const Model model = Model::load(path, options);
  const Predictions early = model.predict(kThree);
  EXPECT_GE(most_layers(early), 2);
  EXPECT_TRUE(has_op(model.times(), "linear"));
  EXPECT_TRUE(has_op(model.times(), "attention")) << "of the layers, which run in parts";
  options.patience = 5;
  EXPECT_EQ(most_layers(Model::load(path, options).predict(kThree)), 6);
  options = {};
  options.exits = false;
  const Predictions whole = Model::load(path, options).predict(kThree);
  EXPECT_EQ(most_layers(whole), 0);
  options = {};
  options.patience = 5;
  const Predictions late = Model::load(path, options).predict(kThree);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(late[i].scores, whole[i].scores);
  options.deadline = 1e-9;
  options.time_ops = true;
  const Model hurried = Model::load(path, options);
  EXPECT_EQ(most_layers(hurried.predict(kThree)), 1);
  EXPECT_TRUE(has_op(hurried.times(), "linear"));
}

TEST(ApiOptions, MistakesNameTheField) {
  const auto with = [](auto&& set) {
    ModelOptions options;
    set(options);
    return refusal(kLoaded, options);
  };
  EXPECT_TRUE(with([](ModelOptions& o) { o.device = "tpu"; }).starts_with("device"));
  EXPECT_TRUE(with([](ModelOptions& o) { o.dtype = "fp4"; }).starts_with("dtype: "));
  EXPECT_TRUE(with([](ModelOptions& o) { o.threads = -1; }).starts_with("threads: "));
  EXPECT_TRUE(with([](ModelOptions& o) { o.max_length = -1; }).starts_with("max_length: "));
  EXPECT_TRUE(with([](ModelOptions& o) { o.patience = 0; }).starts_with("patience: "));
  EXPECT_TRUE(with([](ModelOptions& o) { o.entropy = -1; }).starts_with("entropy: "));
  EXPECT_TRUE(with([](ModelOptions& o) { o.deadline = NAN; }).starts_with("deadline: "));
  for (const auto& message : {with([](ModelOptions& o) { o.patience = 2; }),
                              with([](ModelOptions& o) { o.deadline = 1; })}) {
    EXPECT_NE(message.find("has no early exits"), std::string::npos) << message;
  }
}

TEST(ApiOptions, ADeviceThatIsNotThereIsAnErrorButForAuto) {
  ModelOptions options;
  options.device = "auto";
  EXPECT_EQ(Model::load(kLoaded, options).predict(kThree).size(), kThree.size());
  if (cuda_info().missing.empty()) GTEST_SKIP() << "this machine has a GPU";
  options.device = "cuda";
  EXPECT_TRUE(refusal(kLoaded, options).starts_with("device"));
  options.dtype = "fp8";
  EXPECT_TRUE(refusal(kLoaded, options).starts_with("device"));
}

TEST(ApiOptions, AGpuAnswersAsTheProcessorAndTakesFp8) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  const io::Scratch folder;
  const std::string path = folder.path() + "/wide";
  const Json sizes = {{"hidden_size", 128}, {"num_attention_heads", 4}, {"intermediate_size", 256}};
  infer::write_exiting_folder("bert-words", "pabee", sizes, path);
  ModelOptions options;
  options.exits = false;
  const Predictions expected = Model::load(path, options).predict(kThree);
  options.device = "cuda";
  for (const std::string dtype : {"fp32", "bf16", "fp8"}) {
    if (dtype == "fp8" && cuda_info().devices[0].major < 9) continue;
    options.dtype = dtype;
    const Predictions got = Model::load(path, options).predict(kThree);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i].scores[0], expected[i].scores[0], dtype == "fp32" ? 1e-3 : 0.2) << dtype;
    }
  }
}

}  // namespace
}  // namespace hone
