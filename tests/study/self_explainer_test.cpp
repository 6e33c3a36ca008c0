// What a self-explaining model's folder answers, and what its explanations are made of.
#include "infer/self_explainer.h"
#include "data/records.h"
#include "infer/concept_tools.h"
#include "models/concept_encoder.h"
#include "train/explain_fixture.h"

namespace hone::train {
namespace {

using Texts = std::vector<data::RawSample>;

std::vector<std::vector<float>> logits(infer::Session& session, const Texts& texts) {
  std::vector<std::vector<float>> rows;
  for (infer::Answer& answer : session.run(texts)) rows.push_back(std::move(answer.values));
  return rows;
}

infer::SessionOptions two_threads() {
  infer::SessionOptions options;
  options.threads = 2;
  return options;
}

TEST_F(ExplainRun, AnswersAloneAreThoseInABatchToTheBit) {
  Listener listener;
  run(explaining("out"), listener);
  infer::Session session(folder("out"), two_threads());
  const Texts texts = {
      {"the film was very good", {}},
      {"a", {}},
      {"", {}},
      {"the plot of the movie is dull , and it was not the best of the time .", {}},
      {"the film was very good", {}}};
  const auto together = logits(session, texts);
  EXPECT_EQ(together.front(), together.back());
  infer::SessionOptions one;
  one.threads = 1;
  infer::Session other(folder("out"), one);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(logits(session, {texts[i]}).front(), together[i]) << i;
    EXPECT_EQ(logits(other, {texts[i]}).front(), together[i]) << i;
  }
}

/// The published code's concepts never reach its answers.
TEST_F(ExplainRun, OtherConceptsChangeTheAnswer) {
  Options options = explaining("out");
  Listener listener;
  run(options, listener);
  infer::Session session(options.output, two_threads());
  const Texts text = {{"the film was very good", {}}};
  const auto before = logits(session, text);
  auto& model = dynamic_cast<models::Explainer&>(const_cast<models::Model&>(session.model()));
  explain::ConceptSet other(model.config().hidden_size, 2);
  const std::vector<float> vector(static_cast<size_t>(model.config().hidden_size), 3);
  other.add("something else", vector.data(), 0, 0);
  ThreadPool pool(1);
  model.set_concepts(
      std::make_shared<explain::Concepts>(explain::search_vectors(other, false), nullptr, pool));
  const auto after = logits(session, text);
  EXPECT_NE(after, before);
  model.set_concepts(nullptr);  // attention over the sentence alone
  EXPECT_NE(logits(session, text), after);
}

TEST_F(ExplainRun, AStoreOfAnotherModelIsRefused) {
  Listener listener;
  run(explaining("one"), listener);
  Options options = explaining("two");
  options.seed = 7;
  run(options, listener);
  const auto opened = [&] { return complaint([&] { infer::Session(folder("one"), {}); }); };
  EXPECT_EQ(opened(), "");
  const std::string store = folder("one") + "/" + explain::kConceptFile;
  std::filesystem::copy_file(folder("two") + "/" + explain::kConceptFile, store,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(opened().starts_with(store + ": model: it was made by another model"));
  std::filesystem::remove(store);
  EXPECT_TRUE(opened().starts_with(store + ": missing"));
}

class SelfExplained : public ExplainRun {
 protected:
  std::unique_ptr<data::RecordStream> records(const std::string& name) const {
    data::RecordOptions options;
    options.need_label = true;
    return data::open_records(folder(name), options);
  }

  /// Trains a model and opens it. After 20 epochs its own trees are flat, after 800 they are those
  /// that it was given.
  infer::SelfExplainer& explainer(int64_t ablate = 0, int64_t max_length = 0, double epochs = 20) {
    if (!file_exists(folder("out") + "/config.json")) {
      Options options = explaining("out");
      options.evaluate = false;
      options.epochs = epochs;
      options.learning_rate = 2e-3;
      Listener listener;
      run(options, listener);
    }
    infer::SessionOptions session = two_threads();
    session.max_length = max_length;
    opened_ = std::make_unique<infer::SelfExplainer>(folder("out"), session,
                                                     infer::SelfExplainerOptions{.ablate = ablate});
    return *opened_;
  }

 private:
  std::unique_ptr<infer::SelfExplainer> opened_;
};

const std::vector<std::string_view> kTexts = {
    "the film was very good", "a", "",
    "The plot of the movie is very dull , and it was not great .", "  love the very great actor !"};

std::string json_of(const explain::Explanation& explanation) {
  std::string out;
  explain::append_json(explanation, out);
  return out;
}

TEST_F(SelfExplained, SharesAddUpToTheAnswersLogit) {
  infer::SelfExplainer& own = explainer();
  const auto explanations = own.explain(kTexts);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const explain::Explanation& each = explanations[i];
    const auto answer = own.session().run(std::vector<infer::Input>{{kTexts[i], {}}}).front();
    const float logit = *std::max_element(answer.values.begin(), answer.values.end());
    const explain::Shares& shares = *each.shares;
    EXPECT_NEAR(shares.label + shares.local + shares.global, double{logit}, 1e-4);
    double sum = 0;
    for (const explain::Phrase& phrase : each.phrases) {
      sum += phrase.share;
      EXPECT_EQ(phrase.text,
                std::string(kTexts[i]).substr(static_cast<size_t>(phrase.start),
                                              static_cast<size_t>(phrase.end - phrase.start)));
    }
    EXPECT_NEAR(sum, shares.local, 1e-4) << kTexts[i];
    EXPECT_EQ(each.concepts.size(), 3u);
    for (size_t k = 1; k < each.concepts.size(); ++k) {
      EXPECT_GE(each.concepts[k - 1].similarity, each.concepts[k].similarity);
    }
    EXPECT_EQ(answer.tokens, each.tokens);
  }
  EXPECT_TRUE(explanations[1].phrases.empty()) << "one word";
  EXPECT_TRUE(explanations[2].tree.empty()) << "no word";
  EXPECT_FALSE(explanations[3].tree.empty());
  EXPECT_EQ(explanations[0].concepts.front().labels.size(), 1u);
}

TEST_F(SelfExplained, AnExplanationAloneIsThatInABatchToTheBit) {
  infer::SelfExplainer& own = explainer(2);
  const auto together = own.explain(kTexts);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    EXPECT_EQ(json_of(own.explain(std::span(kTexts).subspan(i, 1)).front()), json_of(together[i]));
  }
}

TEST_F(SelfExplained, AblationsAnswerTheTextWithoutThePhrase) {
  infer::SelfExplainer& own = explainer(1, 0, 800);
  const std::string text = "the plot of the movie is very dull .";
  const auto explanation = own.explain(std::vector<std::string_view>{text}).front();
  ASSERT_GE(explanation.phrases.size(), 2u);
  const explain::Phrase& best = explanation.phrases.front();
  ASSERT_TRUE(best.ablated_score.has_value());
  EXPECT_FALSE(explanation.phrases.back().ablated_score.has_value());
  std::string without = text;
  without.erase(static_cast<size_t>(best.start), static_cast<size_t>(best.end - best.start));
  const auto answer = own.explain(std::vector<std::string_view>{without}).front();
  const auto score =
      std::find_if(answer.scores.begin(), answer.scores.end(),
                   [&](const auto& each) { return each.first == explanation.label; });
  EXPECT_NEAR(*best.ablated_score, score->second, 1e-6);
  EXPECT_EQ(*best.flips, answer.label != explanation.label);
}

TEST_F(SelfExplained, WhatWasCutIsNamed) {
  infer::SelfExplainer& own = explainer(0, 8);
  const auto explanation = own.explain(std::span(kTexts).subspan(3, 1)).front();
  EXPECT_TRUE(explanation.truncated);
  ASSERT_EQ(explanation.cut.size(), 1u);
  EXPECT_TRUE(std::string(kTexts[3]).ends_with(explanation.cut.front()));
}

TEST_F(SelfExplained, AStoreIsMadeAnewOfTheRows) {
  infer::SelfExplainer& before = explainer();
  const auto wanted = json_of(before.explain(kTexts).front());
  const std::string store = folder("out") + "/" + explain::kConceptFile;
  const std::string bytes = read_file(store);
  std::filesystem::remove(store);
  const infer::LabelledRows rows{[&] { return records("rows.csv"); }};
  infer::BuiltStore built =
      infer::build_store(folder("out"), rows, {folder("trees.txt")}, two_threads());
  EXPECT_EQ(built.rows, 10);
  EXPECT_EQ(built.parsed, 1);
  built = infer::build_store(folder("out"), rows, {}, two_threads(), DType::u8);
  EXPECT_EQ(explain::ConceptStore(store).rows().dtype, DType::u8);
  built = infer::build_store(folder("out"), rows, {}, two_threads());
  EXPECT_EQ(built.parsed, 10);
  EXPECT_GT(built.concepts, 0);
  EXPECT_FALSE(explainer().explain(kTexts).front().concepts.empty());
  EXPECT_EQ(infer::export_vectors(folder("out"), folder("vectors.npy")), built.concepts);
  const std::string npy = read_file(folder("vectors.npy"));
  EXPECT_EQ(npy.size() % 64, static_cast<size_t>(built.concepts) * 20 * 4 % 64);
  EXPECT_TRUE(npy.starts_with("\x93NUMPY"));
}

TEST_F(SelfExplained, RowsWhoseNeighboursDisagreeAreListed) {
  explainer();
  std::string rows = kExplainRows;
  rows += "bad,the film was very very good\n";
  write("noisy.csv", rows);
  const infer::LabelledRows noisy{[&] { return records("noisy.csv"); }};
  const auto suspects = infer::find_suspects(folder("out"), noisy, 3, two_threads());
  ASSERT_FALSE(suspects.empty());
  EXPECT_TRUE(std::any_of(suspects.begin(), suspects.end(),
                          [](const infer::SuspectRow& row) { return row.row == 10; }));
  for (size_t i = 1; i < suspects.size(); ++i) {
    EXPECT_GE(suspects[i - 1].disagreement, suspects[i].disagreement);
  }
}

}  // namespace
}  // namespace hone::train
