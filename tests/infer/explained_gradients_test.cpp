// Integrated gradients of a model that explains itself: of its whole answer, with its phrases and
// concepts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "infer/explained_folder.h"
#include "infer/integrated_gradients.h"
#include "infer/self_explainer.h"

namespace hone::infer {
namespace {

class ExplainedGradients : public testing::Test {
 protected:
  ExplainedGradients()
      : path_(std::filesystem::temp_directory_path() /
              ("hone_explained_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
               std::to_string(::getpid()))),
        folder_(explained_folder(path_.string())) {}
  ~ExplainedGradients() override { std::filesystem::remove_all(path_); }

  std::filesystem::path path_;
  std::string folder_;
};

const std::vector<std::string_view> kExplainedTexts = {
    "the film was very good", "a", "", "The movie was not the best of the time , and it is dull .",
    "the actor of the film the plot of the movie the story of the time was bad and dull and great"};

TEST_F(ExplainedGradients, SumToTheDifferenceOfTheWholeAnswer) {
  ThreadPool pool(2);
  IntegratedGradients gradients(folder_, pool, {.steps = 400});
  Session session(folder_, {.threads = 1});
  SelfExplainer own(folder_, {.threads = 1}, {});
  size_t phrases = 0;
  for (const explain::Explanation& each : own.explain(kExplainedTexts)) {
    phrases += each.phrases.size();
    EXPECT_EQ(each.concepts.size(), 3u);
  }
  EXPECT_GT(phrases, 5u);
  const std::vector<TokenShares> found = gradients.explain(kExplainedTexts);
  for (size_t i = 0; i < found.size(); ++i) {
    const Input input{kExplainedTexts[i], {}};
    EXPECT_EQ(found[i].logits, session.run(std::span(&input, 1))[0].values) << "as predict says";
    const double sum = std::accumulate(found[i].shares.begin(), found[i].shares.end(), 0.0);
    EXPECT_NEAR(sum, found[i].difference, 1e-6 + 0.02 * std::abs(found[i].difference))
        << kExplainedTexts[i];
  }
  EXPECT_EQ(found[2].difference, 0) << "an empty text is its own baseline";
}

TEST_F(ExplainedGradients, HaveTheSameBitsInAnyCompany) {
  std::vector<std::string_view> texts;
  for (size_t i = 0; i < 150; ++i) texts.push_back(kExplainedTexts[(i * i) % 5]);
  ThreadPool pool(2), alone(1);
  IntegratedGradients together(folder_, pool, {.steps = 7});
  IntegratedGradients single(folder_, alone, {.steps = 7});
  const std::vector<TokenShares> found = together.explain(texts);
  for (size_t i = 0; i < texts.size(); i += 11) {
    const TokenShares expected = single.explain(std::span(texts).subspan(i, 1)).front();
    EXPECT_EQ(found[i].shares, expected.shares) << texts[i];
    EXPECT_EQ(found[i].difference, expected.difference);
    EXPECT_EQ(found[i].logits, expected.logits);
  }
}

TEST_F(ExplainedGradients, WantTheConcepts) {
  std::filesystem::remove(path_ / explain::kConceptFile);
  ThreadPool pool(1);
  EXPECT_THROW(IntegratedGradients(folder_, pool), Error);
}

}  // namespace
}  // namespace hone::infer
