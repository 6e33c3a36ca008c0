// What a self-explaining model's folder answers, and what its explanations are made of.
#include "infer/session.h"
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

}  // namespace
}  // namespace hone::train
