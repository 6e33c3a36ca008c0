// A parser is trained on trees, written, read again and parses.
#include "models/parser.h"

#include "models/tree_parser.h"
#include "train/corpus.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

/// Trees over a small vocabulary: where a phrase ends is told by its words.
constexpr const char* kTrees =
    "(S (NP the film) (VP was (AP very good)))\n"
    "(S (NP the (AP very bad) plot) (VP was not (AP very dull)))\n"
    "(S (NP a story) (VP is (AP great)) .)\n"
    "(S (NP (NP the plot) (PP of (NP the movie))) (VP is (AP very dull)) .)\n"
    "(S (VP love (NP the (AP very great) actor)) !)\n"
    "(S (NP it) (VP was not (NP a (AP good) film)) .)\n"
    "(S best) (S (NP a film) (PP of (NP the time)))\n"
    "(S (NP the worst act) (PP of (NP a movie)) ?)\n";

class ParseRun : public RunTest {
 protected:
  Options parsing(const std::string& name) const {
    Options made = options(name);
    made.data = {};
    made.data.task = kParseTask;
    made.data.train_file = made.data.validation_file = write("trees.txt", kTrees);
    made.model.model = HONE_TEST_DIR "/../models/goldens/bert-words";
    made.batch.train = 3;
    made.epochs = 2;
    return made;
  }
};

double value_of(const Summary& summary, const std::string& name) {
  for (const auto& [key, value] : summary.evaluation) {
    if (key == name) return value;
  }
  return -1;
}

TEST_F(ParseRun, LearnsItsTreesAndParses) {
  Options options = parsing("out");
  options.epochs = 200;
  options.learning_rate = 4e-3;
  Listener listener;
  const Summary summary = run(options, listener);
  EXPECT_GT(value_of(summary, "eval_f1"), 0.9);
  EXPECT_GT(value_of(summary, "eval_precision"), 0.8);
  EXPECT_LT(value_of(summary, "eval_loss"), 2);
  EXPECT_LT(listener.losses.back(), listener.losses.front() / 3);

  ThreadPool pool(2);
  models::TreeParser parser(options.output, pool);
  const std::vector<std::string_view> texts = {"The film was very good", "", "best",
                                               "  a film of the time"};
  const std::vector<models::ParsedText> parsed = parser.parse(texts);
  EXPECT_EQ(parsed[0].words.size(), 5u);
  ASSERT_FALSE(parsed[0].constituents.empty());
  EXPECT_EQ(parsed[0].constituents[0], (trees::Constituent{0, 5, {}}));
  EXPECT_TRUE(parsed[1].constituents.empty());
  EXPECT_TRUE(parsed[2].constituents.empty());
  EXPECT_EQ(parsed[3].words.front(), (trees::WordPlace{2, 3}));
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto alone = parser.parse(std::span(texts).subspan(i, 1));
    EXPECT_EQ(alone[0].constituents, parsed[i].constituents);
    EXPECT_EQ(alone[0].parts, 1);
  }
}

TEST_F(ParseRun, ScoresAloneAreThoseInABatchToTheBit) {
  Options options = parsing("out");
  Listener listener;
  run(options, listener);
  ThreadPool pool(2);
  models::TreeParser parser(options.output, pool);
  const std::vector<data::RawSample> samples = {
      {"the film was very good", {}}, {"a", {}}, {"the plot of the movie is dull .", {}}};
  std::vector<std::vector<float>> together;
  parser.score(samples, [&](size_t, const data::EncodedSample&, std::span<const float> scores) {
    together.emplace_back(scores.begin(), scores.end());
  });
  ASSERT_EQ(together[0].size(), 10u);
  EXPECT_TRUE(together[1].empty());
  for (size_t i = 0; i < samples.size(); ++i) {
    parser.score(std::span(samples).subspan(i, 1),
                 [&](size_t, const data::EncodedSample&, std::span<const float> scores) {
                   EXPECT_EQ(std::vector<float>(scores.begin(), scores.end()), together[i]);
                 });
  }
}

TEST_F(ParseRun, LongerTextsAreParsedInPartsThatEndWithSentences) {
  Options options = parsing("out");
  Listener listener;
  run(options, listener);
  ThreadPool pool(2);
  models::TreeParser parser(options.output, pool, 10);  // two of them are special
  const std::vector<std::string_view> texts = {
      "the film was good . the plot was very very bad ! a an the it is not and to of"};
  const models::ParsedText parsed = parser.parse(texts).at(0);
  EXPECT_EQ(parsed.parts, 4);
  EXPECT_EQ(parsed.words.size(), 21u);
  const auto has = [&](int32_t begin, int32_t end) {
    return std::any_of(
        parsed.constituents.begin(), parsed.constituents.end(),
        [&](const trees::Constituent& each) { return each.begin == begin && each.end == end; });
  };
  EXPECT_TRUE(has(0, 21) && has(0, 5) && has(5, 12) && has(12, 19));
}

TEST_F(ParseRun, ThatWasStoppedGoesOnBitForBit) {
  Options straight = parsing("straight");
  Listener whole;
  const Summary wanted = run(straight, whole);
  Options halves = parsing("halves");
  halves.saving.kind = Interval::Kind::epoch;
  Listener first(3);
  EXPECT_TRUE(run(halves, first).interrupted);
  halves.resume = "last";
  Listener second;
  const Summary resumed = run(halves, second);
  EXPECT_EQ(weights(halves.output), weights(straight.output));
  EXPECT_EQ(value_of(resumed, "eval_loss"), value_of(wanted, "eval_loss"));
}

TEST_F(ParseRun, TrainsInBf16WithCheckpointedLayers) {
  Listener plain_losses;
  run(parsing("plain"), plain_losses);
  Options low = parsing("low");
  low.step.dtype = DType::bf16;
  low.step.checkpoint_segments = 2;
  Listener losses;
  run(low, losses);
  ASSERT_EQ(losses.losses.size(), plain_losses.losses.size());
  for (size_t i = 0; i < losses.losses.size(); ++i) {
    EXPECT_NEAR(losses.losses[i], plain_losses.losses[i], 0.1);
  }
}

TEST_F(ParseRun, WhatIsMissingOrBadIsSaid) {
  Listener listener;
  const auto said = [&](const std::function<void(Options&)>& change) {
    Options options = parsing("out");
    change(options);
    return complaint([&] { run(options, listener); });
  };
  EXPECT_EQ(said([](Options& o) { o.data.train_file.clear(); }),
            "data.train_file: missing; a parser learns from a file of trees");
  EXPECT_EQ(said([](Options& o) { o.model.model.clear(); }),
            "model: missing; a parser stands on an encoder");
  EXPECT_EQ(said([&](Options& o) { o.data.train_file = write("bad.txt", "(S a b"); }),
            folder("bad.txt") + ": line 1: tree: a bracket is never closed");
  EXPECT_EQ(said([](Options& o) { o.model.lora = nn::LoraOptions{}; }),
            "lora: a parser has no adapters, its weights are trained");
  ThreadPool pool(1);
  const std::string classifier = HONE_TEST_DIR "/../models/goldens/bert-words";
  EXPECT_EQ(complaint([&] { models::TreeParser(classifier, pool); }),
            classifier + ": is no parser, as training of task parse writes them");
}

}  // namespace
}  // namespace hone::train
