// Runs of `hone train` against the same runs in PyTorch, one for each flag of the recipe: losses,
// gradient norms and learning rates of every step, and the weights that are written. The goldens
// are made by tests/parity/run_goldens.py and lstm_goldens.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "cli/program.h"
#include "io/weights.h"

namespace hone::cli {
namespace {

const std::string kRuns = HONE_TEST_DIR "/../train/goldens/runs";

struct GoldenRun {
  std::string name;
  Json json;

  std::vector<double> column(const char* name_of) const { return json.at(name_of); }
};

std::vector<GoldenRun> golden_runs() {
  std::vector<GoldenRun> runs;
  for (const char* file : {"runs.json", "lstm.json"}) {
    for (const Json& each : parse_json(read_file(kRuns + "/" + file), file)) {
      runs.push_back({each.at("name"), each});
    }
  }
  return runs;
}

void PrintTo(const GoldenRun& run, std::ostream* out) { *out << run.name; }

/// A column of log.jsonl's training entries.
std::vector<double> logged(const std::string& output, const char* name) {
  std::vector<double> values;
  for (const Json& entry : Finished{0, read_file(output + "/log.jsonl"), "", 0}.objects()) {
    if (entry.contains("loss")) values.push_back(entry.at(name));
  }
  return values;
}

/// Within `tolerance` of each number or, where that is larger, of 1.
void expect_column(const std::vector<double>& got, const std::vector<double>& wanted,
                   double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * std::max(1., std::abs(wanted[i])))
        << what << " of step " << i + 1;
  }
}

void expect_tensors(const std::string& folder, const std::string& golden_file) {
  const auto got = io::Weights::open(folder);
  const auto wanted = io::Weights::open(golden_file);
  ASSERT_EQ(got->tensors().size(), wanted->tensors().size());
  for (const io::TensorInfo& tensor : wanted->tensors()) {
    const io::TensorInfo* own = got->find(tensor.name);
    ASSERT_NE(own, nullptr) << tensor.name;
    ASSERT_EQ(own->shape, tensor.shape) << tensor.name;
    std::vector<float> a(static_cast<size_t>(tensor.elements)), b(a.size());
    got->read(*own, 0, own->elements, a.data());
    wanted->read(tensor, 0, tensor.elements, b.data());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << tensor.name;
  }
}

class TrainGolden : public testing::TestWithParam<GoldenRun> {};

TEST_P(TrainGolden, FollowsPyTorch) {
  const GoldenRun& run = GetParam();
  const Scratch scratch;
  const std::string output = scratch / "out";
  Words words = {"train",
                 "--do_train",
                 "--quiet",
                 "--model",
                 kRuns + "/" + run.json.at("model").get<std::string>(),
                 "--tokenizer_name",
                 kRuns + "/" + run.json.value("tokenizer", "model"),
                 "--train_file",
                 kRuns + "/" + run.json.at("data").get<std::string>(),
                 "--output_dir",
                 output,
                 "--logging_steps",
                 "1",
                 "--save_strategy",
                 "no",
                 "--threads",
                 "2"};
  for (const auto& [flag, value] : run.json.at("flags").items()) {
    words.push_back(flag);
    const std::string text = value;  // empty for a flag that takes none
    if (!text.empty()) words.push_back(text);
  }
  const Finished done = hone(words);
  ASSERT_EQ(done.code, 0) << done.err;
  const std::vector<double> rates = run.column("learning_rate");
  expect_column(logged(output, "learning_rate"), rates, 1e-12, "the learning rate");
  expect_column(logged(output, "loss"), run.column("loss"), 1e-5, "the loss");
  expect_column(logged(output, "grad_norm"), run.column("grad_norm"), 1e-4, "the gradients' norm");
  if (run.json.at("weights")) expect_tensors(output, kRuns + "/" + run.name + ".safetensors");
}

/// The LSTM's goldens have the one logit of each sample before the first step.
TEST_P(TrainGolden, StartsWithPyTorchsLogits) {
  const GoldenRun& run = GetParam();
  if (!run.json.contains("logits")) return;
  const Finished done = hone({"predict", "--raw", "--quiet", "--model",
                              kRuns + "/" + run.json.at("model").get<std::string>(), "--input",
                              kRuns + "/" + run.json.at("data").get<std::string>()});
  ASSERT_EQ(done.code, 0) << done.err;
  const std::vector<double> wanted = run.column("logits");
  const std::vector<Json> answers = done.objects();
  ASSERT_EQ(answers.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::vector<double> logits = answers[i].at("logits");
    ASSERT_EQ(logits.size(), 2u);
    EXPECT_EQ(logits[0], 0);
    EXPECT_NEAR(logits[1], wanted[i], 1e-5) << "sample " << i;
    EXPECT_NEAR(answers[i].at("scores").at("yes").get<double>(), 1 / (1 + std::exp(-wanted[i])),
                1e-5);
  }
}

/// A flag that changed nothing in PyTorch would be held by nothing here.
TEST_P(TrainGolden, IsUnlikeTheRunWithoutItsFlag) {
  const GoldenRun& run = GetParam();
  if (run.json.at("unlike").is_null()) return;
  const std::string other = run.json.at("unlike");
  const std::vector<GoldenRun> runs = golden_runs();
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [&](const GoldenRun& each) { return each.name == other; });
  ASSERT_NE(found, runs.end()) << other;
  double most = 0;
  for (size_t i = 0; i < run.column("loss").size(); ++i) {
    most = std::max(most, std::abs(run.column("loss")[i] - found->column("loss")[i]));
  }
  EXPECT_GT(most, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Runs, TrainGolden, testing::ValuesIn(golden_runs()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hone::cli
