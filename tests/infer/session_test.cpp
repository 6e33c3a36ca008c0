// Answers to texts are held to PyTorch's on the golden folders that have a tokenizer.
#include "infer/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "infer/classify.h"
#include "infer/evaluate.h"
#include "models/config.h"

namespace hone::infer {
namespace {

const std::string kGoldens = HONE_TEST_DIR "/../models/goldens/";

struct Text {
  std::string text;
  std::optional<std::string> pair;
  Json expected;
  Input input() const { return {text, pair}; }
};

std::vector<Text> golden_texts(const std::string& name) {
  const Json json = parse_json(read_file(kGoldens + name + "/goldens.json"), name);
  std::vector<Text> texts;
  for (const Json& row : json.value("texts", Json::array())) {
    Text text{row.at("text"), std::nullopt, row};
    if (row.contains("text_pair")) text.pair = row.at("text_pair");
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<Input> inputs_of(const std::vector<Text>& texts) {
  std::vector<Input> inputs;
  for (const Text& text : texts) inputs.push_back(text.input());
  return inputs;
}

void expect_near(const std::vector<float>& got, const Json& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    const auto wanted = expected[i].get<float>();
    ASSERT_NEAR(got[i], wanted, 1e-5f * std::max(1.f, std::abs(wanted))) << what << " at " << i;
  }
}

class Sessions : public testing::TestWithParam<const char*> {};

TEST_P(Sessions, AnswerTextsAsPyTorchDoes) {
  const std::vector<Text> texts = golden_texts(GetParam());
  ASSERT_FALSE(texts.empty());
  Session session(kGoldens + GetParam(), {.threads = 2});
  const std::vector<Answer> answers = session.run(inputs_of(texts));
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(answers[i].tokens, static_cast<int64_t>(texts[i].expected.at("ids").size()));
    expect_near(answers[i].values, texts[i].expected.at("logits"), texts[i].text);
  }
}

TEST_P(Sessions, AnswerTheSameAloneAndInManyBatches) {
  const std::vector<Text> texts = golden_texts(GetParam());
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Session session(kGoldens + GetParam(), {.dtype = dtype, .threads = 2});
    std::vector<Input> many;  // more tokens than one forward pass takes
    for (int i = 0; i < 300; ++i)
      many.push_back(texts[static_cast<size_t>(i) % texts.size()].input());
    const std::vector<Answer> together = session.run(many);
    for (size_t i = 0; i < many.size(); i += 37) {
      EXPECT_EQ(session.run(std::span(&many[i], 1))[0].values, together[i].values) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, Sessions,
                         testing::Values("bert-words", "roberta-regression", "albert-groups"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SentenceFolder, PoolsNormalisesAndCutsAsItSays) {
  for (const char* name : {"sentence-bert-mean", "sentence-distilbert-cls"}) {
    const std::vector<Text> texts = golden_texts(name);
    ASSERT_FALSE(texts.empty()) << name;
    Session session(kGoldens + name, {.threads = 1, .output = models::Output::embedding});
    const std::vector<Answer> answers = session.run(inputs_of(texts));
    for (size_t i = 0; i < texts.size(); ++i) {
      expect_near(answers[i].values, texts[i].expected.at("embedding"), texts[i].text);
    }
  }
}

TEST(Session, ReportsOrRefusesWhatItCuts) {
  const std::string text = "the film is great the film is great the film is great";
  const std::vector<Input> inputs = {{text, std::nullopt}};
  Session session(kGoldens + "bert-words", {.threads = 1, .max_length = 6});
  const Answer answer = session.run(inputs)[0];
  EXPECT_EQ(answer.tokens, 6);
  EXPECT_EQ(answer.full_tokens, 14);
  EXPECT_TRUE(answer.truncated());
  Session strict(kGoldens + "bert-words", {.threads = 1, .max_length = 6, .truncate = false});
  EXPECT_THROW(strict.run(inputs), Error);
  EXPECT_THROW(Session(kGoldens + "bert-words", {.max_length = 100000}), Error);
}

TEST(Session, SaysThatABareEncoderCannotPredict) {
  try {
    Session session(kGoldens + "sentence-bert-mean", {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("no classification head (classifier.weight)"),
              std::string::npos)
        << e.what();
  }
}

TEST(Classify, ReadsLogitsByTheProblem) {
  models::EncoderConfig config;
  config.labels = {"a", "b", "c"};
  const std::vector<float> logits = {0.f, 2.f, -1.f};
  const Prediction one = classify(config, logits);
  EXPECT_EQ(one.label, "b");
  EXPECT_NEAR(one.score, 0.8437947f, 1e-6);
  config.problem = ProblemType::multi_label;
  const Prediction many = classify(config, logits);
  EXPECT_EQ(many.chosen, (std::vector<int64_t>{0, 1}));
  EXPECT_NEAR(many.scores[2], 0.2689414f, 1e-6);
  config.problem = ProblemType::regression;
  config.labels = {"score"};
  EXPECT_EQ(classify(config, std::vector<float>{3.5f}).score, 3.5f);
  EXPECT_THROW(classify(config, std::vector<float>{std::nanf("")}), Error);
}

TEST(Evaluate, ScoresAndSumsTheLoss) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("hone-eval-" + std::to_string(::getpid()) + ".tsv");
  const std::vector<Text> texts = golden_texts("bert-words");
  double loss = 0;
  int64_t right = 0;
  int64_t rows = 0;
  {
    OutputFile out(file);
    out.write("sentence\tlabel\n");
    for (const Text& text : texts) {
      if (text.pair || text.text.find_first_of("\t\n") != std::string::npos || text.text.empty())
        continue;
      const auto logits = text.expected.at("logits").get<std::vector<double>>();
      const size_t label = static_cast<size_t>(rows % 2);
      out.write(text.text + "\t" + std::to_string(label) + "\n");
      loss += std::log(std::exp(logits[0]) + std::exp(logits[1])) - logits[label];
      right += (logits[1] > logits[0]) == (label == 1);
      ++rows;
    }
    out.commit();
  }
  Session session(kGoldens + "bert-words", {.threads = 1});
  const auto records = data::open_records(file, {.format = data::Format::tsv, .need_label = true});
  const EvaluationResult evaluation = evaluate(session, *records, {.batch_size = 3});
  std::filesystem::remove(file);
  ASSERT_GT(rows, 3);
  EXPECT_EQ(evaluation.samples, rows);
  EXPECT_NEAR(evaluation.loss, loss / static_cast<double>(rows), 1e-5);
  EXPECT_EQ(evaluation.metrics.front().first, "accuracy");
  EXPECT_DOUBLE_EQ(evaluation.metrics.front().second,
                   static_cast<double>(right) / static_cast<double>(rows));
}

}  // namespace
}  // namespace hone::infer
