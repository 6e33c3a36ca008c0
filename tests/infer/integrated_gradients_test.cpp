// Integrated gradients against Captum's on golden folders, and what they promise.
#include "infer/integrated_gradients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "infer/session.h"
#include "infer/word_shares.h"

namespace hone::infer {
namespace {

std::string gradient_folder(const std::string& name) {
  return HONE_TEST_DIR "/../models/goldens/" + name;
}

Json gradient_goldens(const std::string& folder) {
  const std::string file = HONE_TEST_DIR "/gradient_goldens.json";
  return parse_json(read_file(file), file).at(folder);
}

class GradientFolders : public testing::TestWithParam<const char*> {};

TEST_P(GradientFolders, AttributeAsCaptumDoes) {
  ThreadPool pool(2);
  const Json golden = gradient_goldens(GetParam());
  ASSERT_GE(golden.size(), 3u);
  for (const int64_t steps : {50, 200}) {
    IntegratedGradients gradients(gradient_folder(GetParam()), pool, {.steps = steps});
    for (const Json& row : golden) {
      const std::string text = row.at("text");
      const std::vector<std::string_view> texts = {text};
      const TokenShares found = gradients.explain(texts).front();
      const std::vector<double> wanted = row.at("shares_" + std::to_string(steps));
      EXPECT_EQ(found.answer, row.at("answer").get<int64_t>()) << text;
      EXPECT_NEAR(found.difference, row.at("difference").get<double>(), 1e-4) << text;
      ASSERT_EQ(found.shares.size(), wanted.size()) << text;
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(found.shares[i], wanted[i], 1e-5 * std::max(1.0, std::abs(wanted[i])))
            << text << " at " << i;
      }
    }
  }
}

TEST_P(GradientFolders, HaveTheSameBitsInAnyCompany) {
  std::vector<std::string_view> texts;
  const Json golden = gradient_goldens(GetParam());
  std::vector<std::string> rows;
  for (const Json& row : golden) rows.push_back(row.at("text"));
  for (size_t i = 0; i < 150; ++i) texts.push_back(rows[(i * i) % rows.size()]);
  ThreadPool pool(2), alone(1);
  IntegratedGradients together(gradient_folder(GetParam()), pool, {.steps = 7});
  IntegratedGradients single(gradient_folder(GetParam()), alone, {.steps = 7});
  const std::vector<TokenShares> found = together.explain(texts);
  Session session(gradient_folder(GetParam()), {.threads = 1});
  for (size_t i = 0; i < texts.size(); i += 11) {
    const std::vector<std::string_view> one = {texts[i]};
    const TokenShares expected = single.explain(one).front();
    EXPECT_EQ(found[i].shares, expected.shares) << texts[i];
    EXPECT_EQ(found[i].difference, expected.difference);
    const Input input{texts[i], {}};
    EXPECT_EQ(found[i].logits, session.run(std::span(&input, 1))[0].values) << "as predict says";
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, GradientFolders,
                         testing::Values("bert-words", "roberta-regression", "albert-groups",
                                         "electra-projected"));

TEST(GaussLegendre, IntegratesPolynomialsExactly) {
  for (const int64_t count : {1, 2, 3, 7, 50, 200, 1000}) {
    const Quadrature rule = gauss_legendre(count);
    ASSERT_EQ(std::ssize(rule.points), count);
    EXPECT_TRUE(std::is_sorted(rule.points.begin(), rule.points.end()));
    const int64_t last = std::min<int64_t>(2 * count - 1, 99);
    for (const int64_t degree : {int64_t{0}, last / 2, last}) {
      double sum = 0;
      for (size_t i = 0; i < rule.points.size(); ++i) {
        sum += rule.weights[i] * std::pow(rule.points[i], static_cast<double>(degree));
      }
      EXPECT_NEAR(sum, 1.0 / static_cast<double>(degree + 1), 1e-13) << count << ", " << degree;
    }
  }
}

TEST(WordShares, AreSumsOfTheirTokensInTheOrderOfWhatTheyGave) {
  models::EncoderConfig config;
  config.labels = {"no", "yes"};
  TokenShares tokens;
  tokens.logits = {0, 2};
  tokens.answer = 1;
  // "[CLS] d\u00e9 j\u00e0vu ! [SEP]" over the code points of the text.
  tokens.offsets = {{0, 0}, {0, 2}, {2, 4}, {5, 7}, {7, 8}, {0, 0}};
  tokens.special = {1, 0, 0, 0, 0, 1};
  tokens.shares = {9, 0.25, 0.5, -1, 2, 9};
  tokens.full_tokens = 8;
  const auto found = explanation_of(config, "d\xc3\xa9j\xc3\xa0 vu! cut", tokens);
  EXPECT_EQ(found.label, "yes");
  EXPECT_TRUE(found.truncated);
  EXPECT_EQ(found.original_tokens, 8);
  ASSERT_EQ(found.phrases.size(), 3u);
  EXPECT_EQ(found.phrases[0].text, "!");
  EXPECT_EQ(found.phrases[1].text, "d\xc3\xa9j\xc3\xa0");
  EXPECT_EQ(found.phrases[1].share, 0.75);
  EXPECT_EQ(found.phrases[1].start, 0);
  EXPECT_EQ(found.phrases[1].end, 4);
  EXPECT_EQ(found.phrases[2].text, "vu");
  EXPECT_EQ(found.phrases[2].share, -1);
}

TEST(WordShares, GiveATokenOfTwoWordsToTheOneThatHasMoreOfIt) {
  models::EncoderConfig config;
  config.labels = {"no", "yes"};
  TokenShares tokens;
  tokens.logits = {3, 2};
  // The words are "do" and "n't"; one token is "don", another lies on the space behind them.
  tokens.offsets = {{0, 3}, {3, 5}, {5, 6}};
  tokens.special = {0, 0, 0};
  tokens.shares = {1, 2, 4};
  tokens.full_tokens = 3;
  const auto found = explanation_of(config, "don't ", tokens);
  ASSERT_EQ(found.phrases.size(), 2u);
  EXPECT_EQ(found.phrases[0].text, "n't");
  EXPECT_EQ(found.phrases[0].share, 6);
  EXPECT_EQ(found.phrases[1].text, "do");
  EXPECT_EQ(found.phrases[1].share, 1);
  EXPECT_TRUE(explanation_of(config, " \t ", tokens).phrases.empty());
}

// In bf16 single shares are off by what a gradient is; the largest ones of a text stay what they
// are.
TEST(IntegratedGradients, AreNearInHalfThePrecision) {
  ThreadPool pool(2);
  IntegratedGradients gradients(gradient_folder("bert-words"), pool,
                                {.steps = 50, .dtype = DType::bf16});
  for (const Json& row : gradient_goldens("bert-words")) {
    const std::string text = row.at("text");
    const std::vector<std::string_view> texts = {text};
    const TokenShares found = gradients.explain(texts).front();
    const std::vector<double> wanted = row.at("shares_50");
    double most = 0;
    for (const double share : wanted) most = std::max(most, std::abs(share));
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(found.shares[i], wanted[i], 0.05 * most) << text << " at " << i;
    }
  }
}

// The other folders' widths of a few numbers make paths that norms bend too sharply.
TEST(IntegratedGradients, SumToTheDifferenceAtManySteps) {
  ThreadPool pool(2);
  for (const char* folder : {"bert-words", "albert-groups"}) {
    IntegratedGradients gradients(gradient_folder(folder), pool, {.steps = 200});
    for (const Json& row : gradient_goldens(folder)) {
      const std::string text = row.at("text");
      const std::vector<std::string_view> texts = {text};
      const TokenShares found = gradients.explain(texts).front();
      const double sum = std::accumulate(found.shares.begin(), found.shares.end(), 0.0);
      EXPECT_NEAR(sum, found.difference, 1e-6 + 1e-3 * std::abs(found.difference)) << text;
    }
  }
}

TEST(IntegratedGradients, RefuseWhatHasNoGradientByItsWords) {
  ThreadPool pool(1);
  const auto message = [&](const std::string& folder) -> std::string {
    try {
      IntegratedGradients gradients(folder, pool);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(gradient_folder("bert-bare")).find("no classification head"),
            std::string::npos);
  EXPECT_NE(message(HONE_TEST_DIR "/../models/resnets/basic").find("encoders"), std::string::npos);
}

}  // namespace
}  // namespace hone::infer
