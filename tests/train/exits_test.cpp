// Exits are trained on the losses that their papers give them, and saved under their names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/json.h"
#include "io/weights.h"
#include "train/exit_stages.h"
#include "train/run_fixture.h"
#include "train/stepper.h"

namespace hone::train {
namespace {

class ExitTraining : public RunTest {
 protected:
  Options exiting(const std::string& name, models::ExitMethod method) {
    Options made = options(name);
    made.model.exits = method;
    return made;
  }
  /// What they said.
  std::vector<std::string> run_stages(const Options& made) {
    std::vector<std::string> lines;
    for (const Options& stage : exit_stages(made)) {
      Listener listener;
      run(stage, listener);
      lines.insert(lines.end(), listener.lines.begin(), listener.lines.end());
    }
    return lines;
  }
  static std::vector<float> read(const std::string& folder, const std::string& name) {
    const auto file = io::Weights::open(folder);
    const io::TensorInfo* tensor = file->find(name);
    EXPECT_NE(tensor, nullptr) << name;
    std::vector<float> values(tensor ? static_cast<size_t>(tensor->elements) : 0);
    if (tensor) file->read(*tensor, 0, tensor->elements, values.data());
    return values;
  }
};

TEST_F(ExitTraining, PabeeWeighsLayersByTheirDepth) {
  // At the start every exit of a model with tiny weights gives log 2, so does their weighed mean.
  Options made = exiting("a", models::ExitMethod::pabee);
  made.max_steps = 1;
  Listener listener;
  run(made, listener);
  EXPECT_NEAR(listener.losses[0], std::log(2.), 0.02);
  for (const char* name :
       {"classifiers.0.weight", "classifiers.1.weight", "bert.pooler.dense.weight"}) {
    EXPECT_FALSE(read(made.output, name).empty());
  }
  EXPECT_EQ(io::Weights::open(made.output)->find("classifier.weight"), nullptr);
}

TEST_F(ExitTraining, DeebertTrainsTheModelThenItsExitsAlone) {
  const Options made = exiting("a", models::ExitMethod::deebert);
  ASSERT_EQ(exit_stages(made).size(), 2u);
  run_stages(made);
  const std::string first = made.output + "/stage-1";
  for (const char* name : {"bert.encoder.layer.1.output.dense.weight", "classifier.weight",
                           "bert.pooler.dense.bias"}) {
    EXPECT_EQ(read(first, name), read(made.output, name)) << name;
  }
  for (const char* name :
       {"bert.encoder.highway.0.pooler.dense.weight", "bert.encoder.highway.0.classifier.weight"}) {
    EXPECT_FALSE(read(made.output, name).empty());
  }
  // A model that is trained already gets exits only.
  Options again = exiting("b", models::ExitMethod::deebert);
  again.model.model = first;
  EXPECT_EQ(exit_stages(again).size(), 1u);
}

TEST_F(ExitTraining, AdaptiveExitsHaveThePriceOfAFile) {
  Options made = exiting("a", models::ExitMethod::adaptive);
  made.max_steps = 1;
  const auto loss = [&](const std::string& name, double weight, const std::string& costs) {
    made.output = folder(name);
    made.model.exit_cost_weight = weight;
    made.model.exit_cost = costs.empty() ? "" : write(name + ".json", costs);
    Listener listener;
    run(made, listener);
    return listener.losses[0];
  };
  // Every exit gives log 2 at first, and is right with a probability of about a half.
  const double plain = loss("free", 0, "");
  EXPECT_NEAR(plain, 2 * std::log(2.), 0.1);
  EXPECT_NEAR(loss("alike", 1, "") - plain, 0.75, 0.03);  // two layers have this cost
  const auto file = [&](const std::string& of, const std::string& device) {
    return R"({"model":")" + of + R"(","device":")" + device + R"(","layer_ms":[9,1]})";
  };
  const auto said = [&](const std::string& name, const std::string& costs) {
    return complaint([&] { loss(name, 1, costs); });
  };
  const std::string other = said("other", file("bert of Rome", "cpu"));
  EXPECT_NE(other.find("is of another model: 'bert of Rome', this run has '"), std::string::npos);
  const size_t begin = other.rfind(" has '") + 6;
  const std::string own = other.substr(begin, other.size() - begin - 1);
  EXPECT_NE(said("gpu", file(own, "cuda")).find("another device: 'cuda'"), std::string::npos);
  EXPECT_NEAR(loss("costly", 1, file(own, "cpu")) - plain, 0.95, 0.03);
  EXPECT_NE(said("bad", R"({"model":"x","device":"cpu","layer_ms":[1,-1]})").find("layer_ms"),
            std::string::npos);
}

TEST_F(ExitTraining, IsNotStoppedByAScoreThatCannotChange) {
  Options made = exiting("a", models::ExitMethod::deebert);
  made.evaluation = {Interval::Kind::steps, 1};
  made.stopping.patience = 1;
  made.stopping.threshold = 100;  // the first stage ends behind its second evaluation
  const std::vector<std::string> lines = run_stages(made);
  const auto state = [](const std::string& folder) {
    return parse_json(read_file(folder + "/trainer_state.json"), folder);
  };
  EXPECT_EQ(state(made.output + "/stage-1").at("global_step"), 2);
  EXPECT_EQ(state(made.output).at("global_step"), 12);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("evaluations score the last layer, which stays");
  }));
}

/// Whether the tokenizer is built in, of a folder, or a file.
TEST_F(ExitTraining, StagesEncodeTheDataOnce) {
  const std::string data =
      write("three.csv", "text,label\na film,good\na plot,bad\na great film,odd\n");
  const std::string golden = HONE_TEST_DIR "/../models/goldens/bert-words";
  const std::tuple<const char*, std::string, std::string> cases[] = {
      {"built-in", "", ""}, {"folder", golden, ""}, {"file", golden, golden + "/tokenizer.json"}};
  for (const auto& [name, model, tokenizer] : cases) {
    Options made = exiting(name, models::ExitMethod::deebert);
    made.model.model = model;
    made.model.tokenizer = tokenizer;
    made.data.train_file = made.data.validation_file = data;
    made.max_steps = 1;
    ASSERT_EQ(exit_stages(made).size(), 2u) << name;
    int encoded = 0;
    for (const std::string& line : run_stages(made)) encoded += line.starts_with("encoded ");
    EXPECT_EQ(encoded, 2) << name;  // both splits
  }
}

TEST_F(ExitTraining, GoesOnBitForBit) {
  const Options made = exiting("straight", models::ExitMethod::pabee);
  Listener whole;
  run(made, whole);
  Options halves = made;
  halves.output = folder("halves");
  halves.saving.kind = Interval::Kind::epoch;
  Listener first(3);
  run(halves, first);
  halves.resume = "last";
  Listener second;
  run(halves, second);
  EXPECT_EQ(weights(halves.output), weights(made.output));
}

TEST_F(ExitTraining, RefusesWhatExitsCannotBe) {
  Options scores = exiting("a", models::ExitMethod::deebert);
  scores.data.train_file = write("scores.csv", "text,label\na film,0.5\na plot,1.5\n");
  Listener listener;
  EXPECT_NE(complaint([&] { run(scores, listener); }).find("use pabee"), std::string::npos);
}

}  // namespace
}  // namespace hone::train
