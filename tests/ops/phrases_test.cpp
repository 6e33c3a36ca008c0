#include "ops/phrases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/phrases.h"
#include "ops/case_arrays.h"
#include "ops/concept_attention.h"
#include "ops/linear.h"

namespace hone::ops {
namespace {

constexpr Axis kPhrases{5};
constexpr Axis kNeighbours{6};

/// Texts of so many tokens. A text of n has n / 2 places: phrases from each other token to the end,
/// the last place empty.
struct PhraseTexts {
  explicit PhraseTexts(const std::vector<int32_t>& lengths) {
    for (const int32_t n : lengths) {
      const int32_t first = offsets.back();
      for (int32_t place = 0; place < n / 2; ++place) {
        const bool empty = place > 0 && place == n / 2 - 1;
        spans.push_back(first + place);
        spans.push_back(empty ? first + place : first + n - place);
      }
      offsets.push_back(first + n);
      phrases.push_back(phrases.back() + n / 2);
    }
  }

  std::vector<int32_t> offsets = {0}, phrases = {0}, spans = {};
};

GradientCase phrases_gradient(const std::vector<int32_t>& lengths) {
  constexpr int64_t kWidth = 5;
  const PhraseTexts texts(lengths);
  GradientCase made;
  made.name = "phrases";
  for (const int32_t n : lengths) made.name += "_" + std::to_string(n);
  const auto count = static_cast<int64_t>(lengths.size());
  made.extents = tokens(texts.offsets.back());
  made.extents[kSequences] = count;
  made.extents[kPhrases] = texts.phrases.back();
  std::vector<int32_t> spans = texts.spans;
  if (spans.empty()) spans.push_back(0);
  made.inputs = {{kTokens, kWidth, draw(texts.offsets.back() * kWidth, 1)},
                 {kSequences, kWidth, draw(count * kWidth, 2)},
                 {kSequences, 1, {}, texts.offsets},
                 {kSequences, 1, {}, texts.phrases},
                 {kPhrases, 2, {}, spans},
                 {kSequences, 3, draw(count * 3, 3)}};
  made.weights = {matrix(3, kWidth, 4), vector_of(3, 5)};
  made.record = [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    const PhraseInputs places{x[2], x[3], x[4]};
    const Value rows = phrase_rows(tape, x[0], x[1], places);
    const Value z = linear(tape, rows, w[0], w[1], form.isa, {.out = form.dtype});
    return add_scaled(tape, x[5], phrase_means(tape, z, kSequences, places), 0.3f);
  };
  return made;
}

GradientCase attention_gradient(int64_t texts, int64_t neighbours, int64_t width, int64_t heads,
                                bool some_missing) {
  GradientCase made;
  made.name = "concepts_" + std::to_string(texts) + "x" + std::to_string(neighbours) + "x" +
              std::to_string(width) + "_" + std::to_string(heads) +
              (some_missing ? "_missing" : "");
  made.extents[kSequences] = texts;
  made.extents[kNeighbours] = texts * neighbours;
  std::vector<int32_t> found;
  for (int64_t i = 0; i < texts * neighbours; ++i) {
    found.push_back(some_missing && i % 3 != 0 ? -1 : static_cast<int32_t>(i));
  }
  made.inputs = {{kSequences, width, draw(texts * width, 1)},
                 {kSequences, 2 * width, draw(texts * 2 * width, 2)},
                 {kNeighbours, 2 * width, draw(texts * neighbours * 2 * width, 3)},
                 {kSequences, neighbours, {}, found}};
  made.record = [heads](Tape& tape, const auto& x, const auto&, const OpForm&) {
    return attend_concepts(tape, {x[0], x[1], x[2], x[3], heads}).context;
  };
  return made;
}

class PhraseGradients : public testing::TestWithParam<GradientCase> {};

TEST_P(PhraseGradients, AreThoseOfDifferences) { GradientCheck(GetParam()).run(); }

INSTANTIATE_TEST_SUITE_P(Ops, PhraseGradients,
                         testing::Values(phrases_gradient({4}), phrases_gradient({1, 7, 2, 10}),
                                         phrases_gradient({1}),
                                         attention_gradient(1, 1, 4, 1, false),
                                         attention_gradient(3, 5, 8, 4, false),
                                         attention_gradient(4, 3, 6, 2, true)),
                         [](const auto& test) { return test.param.name; });

/// A mean is over the phrase's own rows: rows of neighbours and of other texts change nothing.
TEST(Phrases, MeansAreOverTheirOwnRows) {
  ThreadPool pool(2);
  const std::vector<float> u = {10, 20};
  std::vector<float> x = {9, 1, 2, 9, 5, -7, 9};
  const std::vector<int32_t> tokens = {0, 4, 7}, phrases = {0, 2, 3}, spans = {1, 3, 0, 0, 4, 6};
  const kernels::PhrasePlaces places{2, tokens.data(), phrases.data(), spans.data()};
  std::vector<float> y(3);
  kernels::phrase_rows(x.data(), u.data(), places, 1, y.data(), pool);
  EXPECT_EQ(y, (std::vector<float>{1.5f - 10, 0, -20}));
  x[0] = x[3] = x[6] = NAN;
  kernels::phrase_rows(x.data(), u.data(), places, 1, y.data(), pool);
  EXPECT_EQ(y, (std::vector<float>{1.5f - 10, 0, -20}));
  const std::vector<float> z = {4, 100, -6};
  std::vector<float> means(2);
  kernels::phrase_means(z.data(), places, 1, means.data(), pool);
  EXPECT_EQ(means, (std::vector<float>{4, -6}));
}

}  // namespace
}  // namespace hone::ops
