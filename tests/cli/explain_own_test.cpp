// hone explain and hone eval --explain of a model that explains itself, and what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/file.h"
#include "cli/program.h"
#include "explain/concept_store.h"
#include "explain/forged_store.h"
#include "infer/explained_folder.h"

namespace hone::cli {
namespace {

const std::string kOwnRows =
    "label,text\nyes,the film was very good\nno,the plot of the movie was dull\n"
    "no,it was not the best of the time\n";

Finished explain_own(const std::string& model, const Words& more, std::string_view input) {
  Words words = {"explain", "--model", model, "--threads", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return hone(words, input);
}

class ExplainOwn : public testing::Test {
 protected:
  ExplainOwn() : folder_(infer::explained_folder(scratch_ / "model")) {}

  std::string store() const { return folder_ + "/" + explain::kConceptFile; }
  /// Rewrites the store, with a right hash, after `change`.
  void forge(const std::function<void(std::string&)>& change) const {
    explain::forge_store(store(), change);
  }
  Finished build(const Words& more) const {
    Words words = {"--build-store", "--train_file", scratch_.write("rows.csv", kOwnRows)};
    words.insert(words.end(), more.begin(), more.end());
    return explain_own(folder_, words, "");
  }
  /// Builds a store by a file of these trees.
  Finished build_by(const std::string& trees) const {
    return build({"--trees", scratch_.write("trees.txt", trees)});
  }

  const Scratch scratch_;
  const std::string folder_;
};

TEST_F(ExplainOwn, ShortTextsHaveNoPhrases) {
  const Finished done = explain_own(folder_, {}, "film\n\nthe film\nthe film was good\n");
  ASSERT_EQ(done.code, 0) << done.err;
  const std::vector<Json> answers = done.objects();
  ASSERT_EQ(answers.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(answers[i].contains("phrases")) << i;
  for (const Json& answer : answers) EXPECT_EQ(answer.at("concepts").size(), 3u);
  EXPECT_EQ(explain_own(folder_, {"--concepts", "0"}, "the film was good")
                .objects()
                .at(0)
                .contains("concepts"),
            false);
}

TEST_F(ExplainOwn, TheBestPhrasesCanDo) {
  const std::string text = "the movie was not the best of the time , and it is dull";
  const Json all = explain_own(folder_, {}, text).objects().at(0).at("phrases");
  ASSERT_GE(all.size(), 2u);
  const Json best = explain_own(folder_, {"--phrases", "1"}, text).objects().at(0).at("phrases");
  EXPECT_EQ(best, Json::array({all.at(0)}));
  EXPECT_TRUE(all.at(0).at("label") == "yes" || all.at(0).at("label") == "no");
  expect_refused(explain_own(folder_, {"--phrases", "1", "--method", "ig"}, text),
                 {"--phrases", "--method"});
}

TEST_F(ExplainOwn, GradientsAreThoseOfTheWholeAnswer) {
  const std::string text = "the movie was not the best of the time , and it is dull";
  const Finished done = explain_own(folder_, {"--method", "ig", "--steps", "300"}, text);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err.find("do not sum"), done.err.npos) << done.err;
  Json answer = done.objects().at(0);
  EXPECT_EQ(answer.at("phrases").size(), 14u);
  answer.erase("phrases");
  EXPECT_EQ(answer, hone({"predict", "--model", folder_}, text).objects().at(0));
}

TEST_F(ExplainOwn, WhatWasCutIsNamed) {
  const Finished done =
      explain_own(folder_, {"--max_seq_length", "7"}, "the film was very good and not dull");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json answer = done.objects().at(0);
  EXPECT_TRUE(answer.at("truncated").get<bool>());
  EXPECT_EQ(answer.at("cut"), Json::array({"and not dull"}));
  for (const Json& phrase : answer.value("phrases", Json::array())) EXPECT_LE(phrase.at("end"), 22);
}

TEST_F(ExplainOwn, PairsAreRefused) {
  const std::string rows = "{\"text\":\"a\"}\n{\"text\":\"a film\",\"text_pair\":\"b\"}\n";
  for (const Words& more : {Words{"--format", "jsonl"}, {"--format", "jsonl", "--method", "ig"}}) {
    const Finished done = explain_own(folder_, more, rows);
    EXPECT_EQ(done.code, 2);
    EXPECT_NE(done.err.find("line 2: a pair of texts"), done.err.npos) << done.err;
  }
}

TEST_F(ExplainOwn, BadTreesAreToldWithTheirLine) {
  const std::string bad = "trees.txt: line 2: tree: ";
  expect_refused(build_by("(S a b)\n(S a b"), {bad + "a bracket is never closed"});
  expect_refused(build_by("(S a b)\n(S a b))"), {bad});
  expect_refused(build_by("(S a b)\n" + std::string(5000, '(')), {bad});
  std::string wide = "(S a b)\n(S";
  for (int i = 0; i < 5000; ++i) wide += " a";
  expect_refused(build_by(wide + ")"), {bad});
  expect_refused(build_by(""), {"trees.txt", "no trees"});
}

TEST_F(ExplainOwn, ATreeOfOtherWordsIsOfNoRow) {
  const Finished other = build_by("(S (NP the movie) (VP was (AP very good)))\n");
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("of 3 rows, of which 3 were parsed by the model"), other.out.npos);
  const Finished own = build_by("(S (NP The film) (VP was (AP very good)))\n");
  EXPECT_NE(own.out.find("of 3 rows, of which 2 were parsed by the model"), own.out.npos)
      << own.out;
}

TEST_F(ExplainOwn, TheStoresDtypeIsChosen) {
  const std::string text = "the film was good";
  ASSERT_EQ(build({}).code, 0);
  const auto size = read_file(store()).size();
  const Json plain = explain_own(folder_, {}, text).objects().at(0);
  for (const char* dtype : {"bf16", "int8"}) {
    const Finished built = build({"--concept_dtype", dtype});
    ASSERT_EQ(built.code, 0) << built.err;
    EXPECT_LT(read_file(store()).size(), size);
    const Json small = explain_own(folder_, {}, text).objects().at(0);
    EXPECT_NEAR(small.at("score").get<double>(), plain.at("score").get<double>(), 0.02);
    EXPECT_NE(small.at("concepts"), plain.at("concepts")) << dtype;
  }
  expect_refused(build({"--concept_dtype", "fp64"}), {"--concept_dtype", "'fp64'"});
  expect_refused(hone({"train", "--concept_dtype", "int8"}), {"--concept_dtype", "--explain"});
}

TEST_F(ExplainOwn, ABadStoreIsRefusedWhateverExplains) {
  const std::string good = read_file(store());
  const auto refused = [&](const std::string& problem) {
    for (const Words& more : {Words{}, {"--method", "ig"}}) {
      expect_refused(explain_own(folder_, more, "the film"), {explain::kConceptFile, problem});
    }
    expect_refused(hone({"predict", "--model", folder_}, "the film"), {problem});
    write_file(store(), good);
  };
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
  write_file(store(), flipped);
  refused("hash: the file is damaged");
  write_file(store(), good.substr(0, good.size() / 2));
  refused("size: less than its concepts need");
  write_file(store(), "");
  refused("size: too short");
  const auto put = [&](size_t at, auto value) {
    forge([&](std::string& bytes) { std::memcpy(bytes.data() + at, &value, sizeof value); });
  };
  put(offsetof(explain::concept_format::Header, concepts), uint64_t{0});
  refused("concepts: the store is empty");
  explain::concept_format::Header header;
  std::memcpy(&header, good.data(), sizeof header);
  const auto at = *explain::concept_format::layout(header, good.size());
  put(at.vectors, std::numeric_limits<float>::quiet_NaN());
  refused("vectors: a value that is not finite");
  put(at.biases, std::numeric_limits<float>::infinity());
  refused("biases: one is not finite");
  explain::ConceptSet narrow(4, 2);
  const float vector[] = {1, 2, 3, 4};
  narrow.add("a film", vector, 0, 0);
  explain::write_concept_store(
      store(), narrow,
      {.model = models::hash_weights(folder_), .vectors = explain::search_vectors(narrow, true)});
  refused("width: its vectors have 4 values, the model's have 20");
  std::filesystem::remove(store());
  refused("missing");
}

TEST_F(ExplainOwn, NoNeighboursAreRefused) {
  std::string config = read_file(folder_ + "/config.json");
  const std::string three = "\"neighbours\": 3";
  ASSERT_NE(config.find(three), config.npos);
  config.replace(config.find(three), three.size(), "\"neighbours\": 0");
  write_file(folder_ + "/config.json", config);
  expect_refused(explain_own(folder_, {}, "the film"), {"config.json", "neighbours"});
  expect_refused(explain_own(folder_, {"--method", "ig"}, "the film"), {"neighbours"});
  expect_refused(hone({"train", "--explain", "--explain_neighbours", "0"}),
                 {"--explain_neighbours"});
}

TEST_F(ExplainOwn, EvaluationsScoreExplanations) {
  const std::string rows = scratch_.write("rows.csv", kOwnRows);
  const std::string trees =
      scratch_.write("trees.txt", "(4 (2 (2 the) (2 film)) (3 (2 was) (4 (2 very) (3 good))))\n");
  const Words asked = {"eval", "--model", folder_, "--test_file", rows, "--explain"};
  const auto with = [&](const Words& more) {
    Words words = asked;
    words.insert(words.end(), more.begin(), more.end());
    return hone(words);
  };
  const Finished done = with({"--json", "--trees", trees});
  ASSERT_EQ(done.code, 0) << done.err;
  const Json result = done.objects().at(0);
  EXPECT_EQ(result.at("samples"), 3);
  EXPECT_EQ(result.at("explained"), 3);
  for (const char* name :
       {"comprehensiveness", "sufficiency", "flip_rate", "comprehensiveness_random",
        "sufficiency_random", "flip_rate_random", "commonest_concept",
        "commonest_concept_uncorrected", "commonest_concept_raw"}) {
    EXPECT_TRUE(result.at("explanations").contains(name)) << name;
  }
  EXPECT_NE(with({}).out.find("    comprehensiveness  "), std::string::npos);
  EXPECT_EQ(with({"--json", "--by_ablation"}).code, 0);
  expect_refused(with({"--trees", scratch_ / "none.txt"}), {"none.txt"});
  expect_refused(hone({"eval", "--model", folder_, "--test_file", rows, "--trees", trees}),
                 {"--trees", "--explain"});
  expect_refused(hone({"eval", "--model", golden("bert-words"), "--test_file", rows, "--explain"}),
                 {"bert-words", "no head that explains"});
}

TEST(ExplainReviews, HaveTreesOfTheirOwn) {
  const Scratch scratch;
  const std::string out = scratch / "out";
  const Finished trained = hone({"train",
                                 "--explain",
                                 "--model",
                                 golden("bert-words"),
                                 "--task_name",
                                 "reviews",
                                 "--max_train_samples",
                                 "60",
                                 "--max_eval_samples",
                                 "8",
                                 "--max_steps",
                                 "2",
                                 "--max_seq_length",
                                 "24",
                                 "--concept_dtype",
                                 "bf16",
                                 "--output_dir",
                                 out,
                                 "--threads",
                                 "2"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ((trained.out + trained.err).find("have no tree"), std::string::npos);
  EXPECT_EQ(explain::ConceptStore(out + "/" + explain::kConceptFile).rows().dtype, DType::bf16);
  const Finished scored = hone({"eval", "--model", out, "--task_name", "reviews", "--explain",
                                "--max_eval_samples", "30", "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  const Json result = scored.objects().at(0);
  EXPECT_EQ(result.at("samples"), 30);
  EXPECT_TRUE(result.at("explanations").contains("commonest_concept"));
}

}  // namespace
}  // namespace hone::cli
