// Explanations through the public interface.
#include "hone/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "hone/train.h"
#include "io/scratch.h"
#include "train/explain_fixture.h"

namespace hone {
namespace {

const std::string kJudge = HONE_TEST_DIR "/../models/goldens/bert-words";

double sum_of_shares(const std::vector<Explanation::Phrase>& phrases) {
  double sum = 0;
  for (const Explanation::Phrase& phrase : phrases) sum += phrase.share;
  return sum;
}

/// Says what `work` is refused with.
template <typename Work>
std::string said_by(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "done";
}

/// Trains a model that explains itself on a few trees.
void train_to_explain(const io::Scratch& scratch, const std::string& output) {
  write_file(scratch / "rows.csv", train::kExplainRows);
  write_file(scratch / "trees.txt", train::kExplainTrees);
  TrainingOptions options;
  options.model = kJudge;
  options.train_file = options.validation_file = scratch / "rows.csv";
  options.output_dir = output;
  options.num_train_epochs = 300;  // Until the model finds some of the trees.
  options.learning_rate = 3e-3;
  options.lr_scheduler_type = "constant";
  options.per_device_train_batch_size = 4;
  options.eval_strategy = options.save_strategy = Strategy::no;
  options.explain = true;
  options.trees = {scratch / "trees.txt"};
  options.explain_neighbours = 3;
  options.threads = 2;
  train_model(options);
}

TEST(ApiExplanations, SayWhatEachWordOfAnyClassifiersTextGave) {
  const std::string file = HONE_TEST_DIR "/../infer/gradient_goldens.json";
  const Json rows = parse_json(read_file(file), file).at("bert-words");
  std::vector<std::string> texts;
  for (const Json& row : rows) texts.push_back(row.at("text"));
  const Explainer explainer = Explainer::load(kJudge);
  EXPECT_FALSE(explainer.explains_itself());
  EXPECT_EQ(explainer.labels(), (std::vector<std::string>{"negative", "positive"}));
  const std::vector<Explanation> found = explainer.explain(texts);
  const Predictions answers = Model::load(kJudge).predict({texts.begin(), texts.end()});
  ASSERT_EQ(found.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(found[i].answer.label, answers[i].label);
    EXPECT_EQ(found[i].answer.scores, answers[i].scores);
    EXPECT_EQ(found[i].answer.tokens, answers[i].tokens);
    const std::vector<double> shares = rows[i].at("shares_50");
    EXPECT_NEAR(sum_of_shares(found[i].phrases), std::accumulate(shares.begin(), shares.end(), 0.),
                1e-4);
    EXPECT_FALSE(found[i].shares);
  }
  const Explanation words = explainer.explain({"the film is great"}).front();
  ASSERT_EQ(words.phrases.size(), 4U);
  for (const Explanation::Phrase& word : words.phrases) {
    const auto [begin, end] = std::pair<size_t, size_t>(word.start, word.end);
    EXPECT_EQ(word.text, std::string("the film is great").substr(begin, end - begin));
    EXPECT_LE(word.share, words.phrases.front().share);
  }
  const auto one_step = explainer.explain({"the film is great"}, {.steps = 1}).front();
  EXPECT_NE(one_step.phrases.front().share, words.phrases.front().share);
  EXPECT_TRUE(explainer.explain({}).empty());
}

TEST(ApiExplanations, TellAModelsOwnReasons) {
  const io::Scratch scratch;
  train_to_explain(scratch, scratch / "out");
  const Explainer explainer = Explainer::load(scratch / "out");
  EXPECT_TRUE(explainer.explains_itself());
  const std::vector<std::string> texts = {
      "the very bad plot was not very dull", "the plot of the movie is very dull .",
      "it was not a good film .", "a film of the time", "the worst act of a movie ?"};
  const std::vector<Explanation> all = explainer.explain(texts);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const Explanation& each) { return !each.phrases.empty(); });
  ASSERT_NE(found, all.end());
  const Explanation& own = *found;
  const std::string& text = texts[static_cast<size_t>(found - all.begin())];
  EXPECT_EQ(own.answer.scores, Model::load(scratch / "out").predict({text}).front().scores);
  ASSERT_TRUE(own.shares);
  EXPECT_NE(own.shares->label, 0);
  EXPECT_NE(own.shares->global, 0);
  EXPECT_NEAR(sum_of_shares(own.phrases), own.shares->local, 1e-5);
  ASSERT_EQ(own.concepts.size(), 3U);
  EXPECT_FALSE(own.concepts[0].labels.empty());
  EXPECT_GE(own.concepts[0].similarity, own.concepts[2].similarity);
  EXPECT_FALSE(own.tree.empty());
  EXPECT_FALSE(own.phrases[0].ablated_score);
  const auto more = explainer.explain({text}, {.ablate = 1, .concepts = 2}).front();
  EXPECT_TRUE(more.phrases[0].ablated_score);
  EXPECT_TRUE(more.phrases[0].flips);
  EXPECT_EQ(more.concepts.size(), 2U);
  EXPECT_EQ(explainer.explain({text}).front().phrases[0].share, own.phrases[0].share);
  const auto gradients = explainer.explain({text}, {.reasons = Reasons::gradients}).front();
  EXPECT_EQ(gradients.answer.label, own.answer.label);
  EXPECT_GT(gradients.phrases.size(), own.phrases.size());
  EXPECT_FALSE(gradients.shares);
  for (const auto& word : gradients.phrases) EXPECT_TRUE(std::isfinite(word.share));
}

TEST(ApiExplanations, AreTheSameForManyThreads) {
  const Explainer explainer = Explainer::load(kJudge, {.threads = 2});
  const auto shares_of = [&](const std::string& text) {
    std::vector<double> shares;
    const auto explained = explainer.explain({text, "a film"}, {.steps = 5});
    for (const auto& phrase : explained.front().phrases) shares.push_back(phrase.share);
    return shares;
  };
  const auto first = shares_of("the film is great"), second = shares_of("the movie was not good");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(shares_of(i % 2 ? "the film is great" : "the movie was not good"),
                  i % 2 ? first : second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ApiExplanations, RefuseWhatTheyCannotTell) {
  const auto loaded = [](const std::string& model, const ExplainerOptions& options) {
    return said_by([&] { Explainer::load(model, options); });
  };
  EXPECT_EQ(loaded(kJudge, {.dtype = "int8"}), "dtype: expected fp32 or bf16, got 'int8'");
  EXPECT_EQ(loaded(kJudge, {.threads = -1}), "threads: expected a number of at least 0, got -1");
  EXPECT_EQ(loaded(kJudge, {.max_length = 1000}),
            "max_length: 1000 is more than the model's 24 positions");
  EXPECT_NE(loaded(HONE_TEST_DIR "/../models/resnets/basic", {})
                .find("integrated gradients take a classifier of the encoders"),
            std::string::npos);
  const Explainer explainer = Explainer::load(kJudge);
  const auto asked = [&](const ExplainOptions& options) {
    return said_by([&] { explainer.explain({"a film"}, options); });
  };
  EXPECT_EQ(asked({.reasons = Reasons::own}),
            "reasons: " + kJudge + " was not trained to explain itself; take gradients");
  EXPECT_EQ(asked({.steps = 0}), "steps: expected a number of at least 1, got 0");
  EXPECT_EQ(asked({.steps = 10'001}), "steps: expected at most 10000, got 10001");
  EXPECT_EQ(asked({.ablate = 1}), "ablate: is of a model's own reasons, not of gradients");
  EXPECT_EQ(asked({.concepts = 1}), "concepts: is of a model's own reasons, not of gradients");
  EXPECT_EQ(asked({}), "done");
}

}  // namespace
}  // namespace hone
