// predict and embed against PyTorch's values in the golden folders.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

constexpr double kTolerance = 1e-5;

void expect_near(const Json& got, const Json& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i].get<double>(), expected[i].get<double>(), kTolerance) << i;
  }
}

/// The golden texts as JSON lines.
std::string lines_of(const Json& texts) {
  std::string lines;
  for (const Json& row : texts) {
    Json line = {{"text", row.at("text")}};
    if (row.contains("text_pair")) line["text_pair"] = row["text_pair"];
    lines += line.dump() + "\n";
  }
  return lines;
}

class Predict : public testing::TestWithParam<const char*> {};

TEST_P(Predict, GivesPyTorchsLogits) {
  const Json texts = goldens_of(GetParam()).at("texts");
  ASSERT_FALSE(texts.empty());
  const Finished done = hone(
      {"predict", "--model", golden(GetParam()), "--format", "jsonl", "--raw"}, lines_of(texts));
  ASSERT_EQ(done.code, 0) << done.err;
  const std::vector<Json> answers = done.objects();
  ASSERT_EQ(answers.size(), texts.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    SCOPED_TRACE(texts[i].at("text").dump());
    expect_near(answers[i].at("logits"), texts[i].at("logits"));
    EXPECT_EQ(answers[i].at("tokens"), texts[i].at("ids").size());
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, Predict,
                         testing::Values("bert-words", "roberta-regression", "albert-groups"));

TEST(Predict, WritesTheFieldsOfTheContract) {
  const std::string model = golden("bert-words");
  const Finished plain = hone({"predict", "--model", model}, "the film is great\n");
  EXPECT_EQ(plain.err, "");
  const Json answer = plain.objects().at(0);
  EXPECT_EQ(answer.size(), 5u);
  EXPECT_EQ(answer.at("label"), "negative");
  const double negative = answer.at("scores").at("negative").get<double>();
  EXPECT_EQ(answer.at("score").get<double>(), negative);
  EXPECT_NEAR(negative + answer.at("scores").at("positive").get<double>(), 1, 1e-6);
  EXPECT_NEAR(negative, 1 / (1 + std::exp(-0.821916044 - 2.053509)), 1e-6);
  EXPECT_EQ(answer.at("tokens"), 6);
  EXPECT_EQ(answer.at("truncated"), false);
}

TEST(Predict, NamesAllChosenLabelsOfAMultiLabelModel) {
  const Scratch scratch;
  const std::string model = scratch.copy("bert-words");
  Json config = parse_json(read_file(model + "/config.json"), "config");
  config["problem_type"] = "multi_label_classification";
  config["id2label"] = {{"0", "a \"quoted\"\n\u00e9"}, {"1", "b"}};
  config["label2id"] = {{"a \"quoted\"\n\u00e9", 0}, {"b", 1}};
  scratch.write("bert-words/config.json", config.dump());
  const Json answer = hone({"predict", "--model", model}, "the film is great\n").objects().at(0);
  EXPECT_EQ(answer.at("labels"), Json({"a \"quoted\"\n\u00e9"}));
  EXPECT_NEAR(answer.at("scores").at("a \"quoted\"\n\u00e9").get<double>(),
              1 / (1 + std::exp(-2.053509)), 1e-6);
  EXPECT_NEAR(answer.at("scores").at("b").get<double>(), 1 / (1 + std::exp(0.821916044)), 1e-6);
}

TEST(Predict, AnswersEveryLineInOrderEmptyAndBrokenOnesToo) {
  using namespace std::string_view_literals;
  const Finished done =
      hone({"predict", "--model", golden("bert-words")},
           "the film is great\n\n\xff\xfe\xe2\x82 bad\n\0the\nthe film is great"sv);
  EXPECT_EQ(done.code, 0) << done.err;
  const std::vector<Json> answers = done.objects();
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_EQ(answers[1].at("tokens"), 2);
  EXPECT_EQ(answers[4], answers[0]);
  EXPECT_EQ(hone({"predict", "--model", golden("bert-words")}, "").out, "");
}

TEST(Predict, ReadsEveryFormat) {
  const Scratch scratch;
  const std::string model = golden("bert-words");
  const std::string expected = hone({"predict", "--model", model, "--format", "jsonl"},
                                    "{\"text\":\"the film\",\"text_pair\":\"is great\"}\n")
                                   .out;
  ASSERT_NE(expected, "");
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"a.csv", "sentence1,sentence2\r\n\"the film\",is great\r\n"},
           {"a.tsv", "sentence1\tsentence2\nthe film\tis great\n"},
           {"a.jsonl", "{\"sentence2\":\"is great\",\"sentence1\":\"the film\"}\n"}}) {
    const std::string file = scratch.write(name, bytes);
    EXPECT_EQ(hone({"predict", "--model", model, "--input", file}).out, expected) << name;
  }
}

TEST(Predict, GivesTheSameBitsInAnyBatch) {
  std::string many;
  for (int i = 0; i < 700; ++i) many += "the film is great\nthe movie was not good , it was dull\n";
  for (const char* dtype : {"fp32", "bf16", "int8"}) {
    const Words words = {"predict", "--model", golden("bert-words"), "--raw", "--dtype", dtype};
    const std::string first = hone(words, "the film is great\n").out;
    const std::string all = hone(words, many).out;
    size_t found = 0;
    for (size_t at = 0; (at = all.find(first, at)) != std::string::npos; ++at) ++found;
    EXPECT_EQ(found, 700u) << dtype;
  }
}

TEST(Predict, WritesAFileThatIsTheSame) {
  const Scratch scratch;
  const Words words = {"predict", "--model", golden("bert-words")};
  Words to_file = words;
  to_file.insert(to_file.end(), {"--output", scratch / "out.jsonl"});
  const Finished done = hone(to_file, "the film\nis great\n");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_EQ(read_file(scratch / "out.jsonl"), hone(words, "the film\nis great\n").out);
  EXPECT_EQ(scratch.entries(), Words{"out.jsonl"});
}

TEST(Predict, RunsInBf16) {
  const Words words = {"predict", "--raw", "--dtype", "bf16", "--model", golden("bert-words")};
  const Json answer = hone(words, "the film is great\n").objects().at(0);
  EXPECT_NEAR(answer.at("logits")[0].get<double>(), 2.053509, 0.05);
  EXPECT_NE(answer.at("logits")[0].get<double>(), 2.053509);
}

TEST(Predict, NeedsAHeadAndUsesAllOfIt) {
  expect_refused(hone({"predict", "--model", golden("sentence-bert-mean")}, "a\n"),
                 {"model.safetensors", "classif"});
  const Finished headless = hone({"embed", "--model", golden("bert-words")}, "the film\n");
  EXPECT_EQ(headless.code, 0);
}

TEST(Embed, GivesPyTorchsVectors) {
  for (const char* name : {"sentence-bert-mean", "sentence-distilbert-cls"}) {
    const Json texts = goldens_of(name).at("texts");
    const Finished done =
        hone({"embed", "--model", golden(name), "--format", "jsonl"}, lines_of(texts));
    ASSERT_EQ(done.code, 0) << done.err;
    const std::vector<Json> answers = done.objects();
    ASSERT_EQ(answers.size(), texts.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      expect_near(answers[i].at("embedding"), texts[i].at("embedding"));
      EXPECT_TRUE(answers[i].contains("tokens") && answers[i].contains("truncated"));
    }
  }
}

TEST(Embed, PoolsAndNormalisesAsAsked) {
  const Json text = goldens_of("bert-words").at("texts")[0];
  const auto embed = [&](const Words& more) {
    Words words = {"embed", "--model", golden("bert-words"), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return hone(words, text.at("text").get<std::string>() + "\n").objects().at(0).at("embedding");
  };
  expect_near(embed({}), text.at("mean"));
  expect_near(embed({"--pooling", "mean"}), text.at("mean"));
  expect_near(embed({"--pooling", "cls"}), text.at("first"));
  const Json largest = embed({"--pooling", "max"});
  for (size_t i = 0; i < largest.size(); ++i) {
    EXPECT_GE(largest[i].get<double>() + kTolerance, text.at("mean")[i].get<double>());
  }
  double length = 0;
  for (const Json& value : embed({"--normalize"})) length += std::pow(value.get<double>(), 2);
  EXPECT_NEAR(length, 1, 1e-6);
}

TEST(Fp8, IsOfAGpuAlone) {
  expect_refused(
      hone({"predict", "--device", "cpu", "--dtype", "fp8", "--model", golden("bert-words")}),
      {"--dtype", "fp8", "GPU"});
  const Scratch scratch;
  expect_refused(hone({"convert", "--model", golden("bert-words"), "--output", scratch / "new",
                       "--dtype", "fp8"}),
                 {"--dtype", "fp8"});
}

}  // namespace
}  // namespace hone::cli
