#include "infer/faithfulness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "base/error.h"
#include "infer/deletions.h"
#include "infer/explained_folder.h"
#include "trees/brackets.h"

namespace hone::infer {
namespace {

explain::Phrase phrase_at(int64_t start, int64_t end) {
  explain::Phrase phrase;
  phrase.start = start;
  phrase.end = end;
  return phrase;
}

TEST(DeletableText, RanksWordsByTheBestPhraseThatHasThem) {
  const DeletableText text("a d\xc3\xa9j\xc3\xa0 vu film");
  ASSERT_EQ(text.size(), 4u);
  const std::vector<explain::Phrase> phrases = {phrase_at(0, 6), phrase_at(2, 9)};
  EXPECT_EQ(text.ranked(phrases, {0.5, 0.25}), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(text.ranked(phrases, {-0.5, 0.25}), (std::vector<size_t>{1, 2, 0, 3}));
  const std::vector<explain::Phrase> turned = {phrases[1], phrases[0]};
  EXPECT_EQ(text.ranked(turned, {0.5, 0.25}), (std::vector<size_t>{1, 2, 0, 3}));
  EXPECT_EQ(text.words_of(phrases[1]), (std::vector<bool>{false, true, true, false}));
}

TEST(DeletableText, KeepsWordsApart) {
  const DeletableText text("I do n't; don't  go.");
  EXPECT_EQ(text.kept(std::vector<bool>(text.size(), true)), "I do n't; don't  go.");
  const DeletableText joined("I don't go.");
  ASSERT_EQ(joined.size(), 5u);
  EXPECT_EQ(joined.kept({true, false, true, true, true}), "I n't go.");
  EXPECT_EQ(joined.kept({false, true, false, false, true}), "do .");
  EXPECT_EQ(joined.kept({false, false, false, false, false}), "");
}

class TextRecords : public data::RecordStream {
 public:
  explicit TextRecords(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  bool next(data::Record& record) override {
    if (at_ == texts_.size()) return false;
    record = {};
    record.text = texts_[at_++];
    return true;
  }
  bool waiting() override { return true; }
  std::string where(const data::Record&) const override { return "test"; }

 private:
  std::vector<std::string> texts_;
  size_t at_ = 0;
};

class FaithfulnessTest : public testing::Test {
 protected:
  FaithfulnessTest()
      : path_(std::filesystem::temp_directory_path() /
              ("hone_faithfulness_" + std::to_string(::getpid()))),
        explainer_(explained_folder(path_.string()), {.threads = 1}, {}) {}
  ~FaithfulnessTest() override { std::filesystem::remove_all(path_); }

  std::map<std::string, double> measured(const std::vector<std::string>& texts,
                                         const FaithfulnessOptions& options = {}) {
    TextRecords records(texts);
    const Faithfulness found = measure_faithfulness(explainer_, records, options);
    texts_ = found.texts;
    return {found.metrics.begin(), found.metrics.end()};
  }
  explain::Explanation explained(const std::string& text) {
    const std::string_view view = text;
    return explainer_.explain(std::span(&view, 1)).front();
  }
  double score_of(const std::string& text, const std::string& label) {
    for (const auto& [name, score] : explained(text).scores) {
      if (name == label) return score;
    }
    return -1;
  }

  std::filesystem::path path_;
  SelfExplainer explainer_;
  int64_t texts_ = 0;
};

const std::string kMeasured = "the movie was not the best of the time , and it is dull";

TEST_F(FaithfulnessTest, IsWhatDeletionsBySharesShow) {
  const auto found = measured({kMeasured, "a"});
  EXPECT_EQ(texts_, 1) << "a word has no phrases";
  const explain::Explanation whole = explained(kMeasured);
  ASSERT_GE(whole.phrases.size(), 2u);
  std::vector<double> shares;
  for (const explain::Phrase& phrase : whole.phrases) shares.push_back(phrase.share);
  const DeletableText words(kMeasured);
  ASSERT_EQ(words.size(), 14u);
  const std::vector<size_t> order = words.ranked(whole.phrases, shares);
  double comprehensiveness = 0, sufficiency = 0;
  for (const size_t first : {1, 1, 2, 3, 7}) {
    std::vector<bool> alone(14);
    for (size_t i = 0; i < first; ++i) alone[order[i]] = true;
    sufficiency += (whole.score - score_of(words.kept(alone), whole.label)) / 5;
    alone.flip();
    comprehensiveness += (whole.score - score_of(words.kept(alone), whole.label)) / 5;
  }
  EXPECT_NEAR(found.at("comprehensiveness"), comprehensiveness, 1e-6);
  EXPECT_NEAR(found.at("sufficiency"), sufficiency, 1e-6);
  std::vector<bool> rest = words.words_of(whole.phrases.front());
  rest.flip();
  EXPECT_EQ(found.at("flip_rate"), explained(words.kept(rest)).label != whole.label ? 1 : 0);
  EXPECT_TRUE(found.contains("comprehensiveness_random"));
  EXPECT_FALSE(found.contains("phrase_agreement"));
}

TEST_F(FaithfulnessTest, RanksByAblationWhereThatIsAsked) {
  const auto by_share = measured({kMeasured});
  const auto by_ablation = measured({kMeasured}, {.by_ablation = true});
  explainer_.set_options({.ablate = 1000});
  explain::Explanation whole = explained(kMeasured);
  const auto best = std::min_element(
      whole.phrases.begin(), whole.phrases.end(),
      [](const auto& a, const auto& b) { return *a.ablated_score < *b.ablated_score; });
  const DeletableText words(kMeasured);
  std::vector<bool> rest = words.words_of(*best);
  rest.flip();
  EXPECT_EQ(by_ablation.at("flip_rate"), explained(words.kept(rest)).label != whole.label ? 1 : 0);
  EXPECT_EQ(by_share.at("sufficiency_random"), by_ablation.at("sufficiency_random"));
  const std::string other = "the film was very bad , a story of the best actor is not great";
  EXPECT_NE(measured({kMeasured, other}).at("comprehensiveness"),
            measured({kMeasured, other}, {.by_ablation = true}).at("comprehensiveness"));
}

TEST_F(FaithfulnessTest, ComparesPhrasesWithLabelledTrees) {
  const explain::Explanation whole = explained(kMeasured);
  const auto agreement = [&](const std::string& label) {
    std::string brackets = whole.tree;
    for (size_t at = 0; (at = brackets.find("(X", at)) != brackets.npos; ++at) {
      brackets.replace(at + 1, 1, label);
    }
    auto bank = std::make_shared<data::TreeBank>();
    std::vector<trees::Tree> trees;
    EXPECT_EQ(trees::BracketReader().take(brackets, trees), "");
    bank->index.add(trees.front());
    const auto found = measured({kMeasured}, {.trees = bank});
    return found.contains("phrase_agreement") ? found.at("phrase_agreement") : -1;
  };
  double yes = 0;
  for (const explain::Phrase& phrase : whole.phrases) yes += phrase.label == "yes" ? 1 : 0;
  yes /= static_cast<double>(whole.phrases.size());
  EXPECT_NEAR(agreement("yes"), yes, 1e-9);
  EXPECT_NEAR(agreement("4"), yes, 1e-9);
  EXPECT_NEAR(agreement("0"), 1 - yes, 1e-9);
  EXPECT_EQ(agreement("2"), -1) << "neutral";
  EXPECT_EQ(agreement("7"), -1);
  EXPECT_EQ(agreement("NP"), -1);
}

TEST_F(FaithfulnessTest, CountsTheCommonestConcept) {
  const auto found = measured({kMeasured, "the film", "a dull plot", "the film"});
  for (const char* name :
       {"commonest_concept", "commonest_concept_uncorrected", "commonest_concept_raw"}) {
    EXPECT_GE(found.at(name), 0.625) << "five of eight concepts a text";
    EXPECT_LE(found.at(name), 1);
  }
  EXPECT_EQ(measured({}).at("commonest_concept"), 0);
  measured({kMeasured, kMeasured, kMeasured}, {.max_samples = 2});
  EXPECT_EQ(texts_, 2);
}

}  // namespace
}  // namespace hone::infer
