// The public interface, against PyTorch's values in the golden folders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "hone/hone.h"

namespace hone {
namespace {

std::string golden(const std::string& name) { return HONE_TEST_DIR "/../models/goldens/" + name; }

Json golden_rows(const std::string& name) {
  return parse_json(read_file(golden(name) + "/goldens.json"), name).at("texts");
}

std::vector<Text> texts_of(const Json& rows) {
  std::vector<Text> texts;
  for (const Json& row : rows) {
    const std::string text = row.at("text");
    texts.push_back(row.contains("text_pair") ? Text(text, row.at("text_pair")) : Text(text));
  }
  return texts;
}

TEST(Api, PredictsTextsAndPairs) {
  const Json rows = golden_rows("bert-words");
  Model model = Model::load(golden("bert-words"));
  EXPECT_EQ(model.labels(), (std::vector<std::string>{"negative", "positive"}));
  const std::vector<Prediction> predictions = model.predict(texts_of(rows));
  ASSERT_EQ(predictions.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const double margin =
        rows[i].at("logits")[0].get<double>() - rows[i].at("logits")[1].get<double>();
    EXPECT_EQ(predictions[i].label, margin > 0 ? "negative" : "positive");
    EXPECT_NEAR(predictions[i].scores[0], 1 / (1 + std::exp(-margin)), 1e-5);
    EXPECT_EQ(predictions[i].tokens, static_cast<int64_t>(rows[i].at("ids").size()));
  }
  EXPECT_TRUE(predictions.back().truncated);
  EXPECT_FALSE(predictions.front().truncated);
  EXPECT_TRUE(model.predict({}).empty());
}

TEST(Api, EmbedsAsTheFolderSays) {
  const Json rows = golden_rows("sentence-bert-mean");
  Model model = Model::load(golden("sentence-bert-mean"));
  const auto vectors = model.embed(texts_of(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(vectors[i].size(), rows[i].at("embedding").size());
    for (size_t k = 0; k < vectors[i].size(); ++k) {
      EXPECT_NEAR(vectors[i][k], rows[i].at("embedding")[k].get<double>(), 1e-5);
    }
  }
}

TEST(Api, TokenizesWithoutCutting) {
  const Model model = Model::load(golden("bert-words"));
  const Tokens tokens = model.tokenize(Text("the film", "is great"));
  EXPECT_EQ(tokens.tokens,
            (std::vector<std::string>{"[CLS]", "the", "film", "[SEP]", "is", "great", "[SEP]"}));
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{2, 17, 18, 3, 20, 29, 3}));
  EXPECT_EQ(tokens.type_ids, (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(tokens.offsets[2], std::pair(4u, 8u));
  std::string lengthy;
  for (int i = 0; i < 50; ++i) lengthy += "the ";
  EXPECT_EQ(model.tokenize(lengthy).ids.size(), 52u);
}

TEST(Api, SaysWhereTheTimeWent) {
  ModelOptions options;
  options.time_ops = true;
  Model model = Model::load(golden("bert-words"), options);
  model.predict({"the film is great"});
  model.predict({"the film"});
  const std::vector<TimeSpent> times = model.times();
  const auto linear = std::find_if(times.begin(), times.end(),
                                   [](const TimeSpent& time) { return time.name == "linear"; });
  ASSERT_NE(linear, times.end());
  EXPECT_GT(linear->calls, 2);
  EXPECT_GT(linear->gflops, 0);
  EXPECT_EQ(times[0].name, "load");
  EXPECT_EQ(times[1].name, "tokenise");
  EXPECT_EQ(times[1].calls, 2);
}

TEST(Api, ThrowsItsOneErrorType) {
  EXPECT_THROW(Model::load("/no/such/folder"), Error);
  ModelOptions options;
  options.dtype = "fp8";
  EXPECT_THROW(Model::load(golden("bert-words"), options), Error);
  Model model = Model::load(golden("bert-words"));
  EXPECT_THROW(model.embed({"a"}), Error);
  options = {};
  options.use = Use::embed;
  EXPECT_EQ(Model::load(golden("bert-words"), options).embed({"the film"})[0].size(), 20u);
}

}  // namespace
}  // namespace hone
