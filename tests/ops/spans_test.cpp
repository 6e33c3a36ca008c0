#include "ops/spans.h"

#include <gtest/gtest.h>

#include "kernels/cpu/chart.h"
#include "ops/activation.h"
#include "ops/case_arrays.h"
#include "ops/linear.h"

namespace hone::ops {
namespace {

constexpr Axis kBounds{5};
constexpr Axis kCells{6};

/// Texts of so many words; each word has two tokens, and there is one before the first and one
/// behind the last. A text's tree has its first two and its last three words as constituents.
struct Texts {
  explicit Texts(const std::vector<int32_t>& words) {
    for (const int32_t n : words) {
      const int32_t first = offsets.back();
      for (int32_t bound = 0; bound <= n; ++bound) {
        before.push_back(first + 2 * bound);
        behind.push_back(first + 2 * bound + 1);
      }
      offsets.push_back(first + 2 * n + 2);
      bounds.push_back(bounds.back() + n + 1);
      cells.push_back(cells.back() + static_cast<int32_t>(kernels::chart_cells(n)));
      for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = i + 2; j <= n; ++j) {
          gold.push_back((i == 0 && j == 2) || (i == n - 3 && j == n) || j - i == n);
        }
      }
    }
  }

  std::vector<int32_t> offsets = {0}, bounds = {0}, cells = {0}, before = {}, behind = {},
                       gold = {};
};

/// `given` says which texts have a tree; all where it is empty.
GradientCase spans_gradient(const std::vector<int32_t>& words, bool with_loss,
                            std::vector<int32_t> given = {}) {
  constexpr int64_t kWidth = 5;
  const Texts texts(words);
  GradientCase made;
  made.name = with_loss ? "tree_loss" : "span_rows";
  for (const int32_t n : words) made.name += "_" + std::to_string(n);
  const bool masked = !given.empty();
  if (masked) made.name += "_masked";
  given.resize(words.size(), 1);
  made.extents = tokens(texts.offsets.back());
  made.extents[kSequences] = static_cast<int64_t>(words.size());
  made.extents[kBounds] = texts.bounds.back();
  made.extents[kCells] = texts.cells.back();
  const auto at_least_one = [](std::vector<int32_t> values) {
    if (values.empty()) values.push_back(0);
    return values;
  };
  CheckedInput scale{Axis::one, 2, {3, 16}};
  scale.held = Held::f64;
  made.inputs = {{kTokens, 3, draw(texts.offsets.back() * 3, 1)},
                 {kSequences, 1, {}, texts.offsets},
                 {kSequences, 1, {}, texts.bounds},
                 {kSequences, 1, {}, texts.cells},
                 {kBounds, 1, {}, texts.before},
                 {kBounds, 1, {}, texts.behind},
                 {kCells, 1, {}, at_least_one(texts.gold)},
                 std::move(scale),
                 {kSequences, 1, {}, given}};
  made.weights = {matrix(4 * kWidth, 3, 2), vector_of(4 * kWidth, 3), matrix(1, kWidth, 4),
                  vector_of(1, 5)};
  if (with_loss) made.loss_scale = 16;
  made.record = [with_loss, masked](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    const SpanInputs spans{x[1], x[2], x[3], x[4], x[5], kCells};
    const Value shares = linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
    const Value rows = activate(tape, span_rows(tape, shares, spans), kernels::Activation::tanh);
    const Value scores = linear(tape, rows, w[2], w[3], form.isa, {.out = form.dtype});
    if (!with_loss) return scores;
    return tree_loss(tape, {scores, x[6], spans, x[7], masked ? x[8] : Value{}}, 0.7);
  };
  return made;
}

class SpanGradients : public testing::TestWithParam<GradientCase> {};

TEST_P(SpanGradients, AreThoseOfDifferences) { GradientCheck(GetParam()).run(); }

INSTANTIATE_TEST_SUITE_P(Ops, SpanGradients,
                         testing::Values(spans_gradient({3}, false),
                                         spans_gradient({1, 5, 2}, false),
                                         spans_gradient({2}, true), spans_gradient({6}, true),
                                         spans_gradient({4, 1, 7, 3}, true),
                                         spans_gradient({4, 5, 3}, true, {1, 0, 1})),
                         [](const auto& test) { return test.param.name; });

/// Runs parse_phrases() over texts of so many words.
std::vector<int32_t> parsed(const std::vector<int32_t>& words, const std::vector<float>& scores,
                            const std::vector<int32_t>& given, std::vector<int32_t> known) {
  const Texts texts(words);
  constexpr Axis kPlaces{7};
  Plan plan;
  Tape tape(plan);
  Extents extents = tokens(texts.offsets.back());
  extents[kSequences] = static_cast<int64_t>(words.size());
  extents[kBounds] = texts.bounds.back();
  extents[kCells] = texts.cells.back();
  std::vector<int32_t> places = {0};
  for (const int32_t n : words) places.push_back(places.back() + std::max(0, n - 2));
  extents[kPlaces] = places.back();
  known.resize(static_cast<size_t>(2 * places.back()));
  const auto input = [&](Axis axis, int64_t width) { return plan.input(DType::i32, axis, width); };
  const Value score = plan.input(DType::f32, kCells, 1);
  const ParseInputs in{score,
                       input(kSequences, 1),
                       input(kSequences, 1),
                       input(kPlaces, 2),
                       {input(kSequences, 1), input(kSequences, 1), input(kSequences, 1),
                        input(kBounds, 1), input(kBounds, 1), kCells}};
  const Value out = parse_phrases(tape, in, 0.4);
  plan.keep(out);
  ThreadPool pool(2);
  Runner runner(plan, std::vector<const void*>(), pool);
  runner.resize(extents);
  runner.bind(score, scores.data());
  runner.bind(in.given, given.data());
  runner.bind(in.phrases, places.data());
  runner.bind(in.known, known.data());
  runner.bind(in.spans.offsets, texts.offsets.data());
  runner.bind(in.spans.bounds, texts.bounds.data());
  runner.bind(in.spans.cells, texts.cells.data());
  runner.bind(in.spans.before, texts.before.data());
  runner.bind(in.spans.behind, texts.behind.data());
  runner.run();
  const auto* found = runner.output<int32_t>(out);
  return {found, found + known.size()};
}

/// Words have two tokens each behind a first one, so that words [1, 3) are rows [3, 7).
TEST(ParsePhrases, TakesKnownOnesAndFindsTheOthers) {
  // Spans of four words: (0,2) (0,3) (0,4) (1,3) (1,4) (2,4).
  const std::vector<float> one = {-9, -9, 0, 9, -9, -9};
  EXPECT_EQ(parsed({4}, one, {0}, {}), (std::vector<int32_t>{3, 7, 0, 0}));
  EXPECT_EQ(parsed({4}, one, {1}, {1, 9}), (std::vector<int32_t>{1, 9, 0, 0}));
  std::vector<float> both = {-9, 9, 0, 9, -9, -9};
  EXPECT_EQ(parsed({4}, both, {0}, {}), (std::vector<int32_t>{1, 7, 3, 7}));
  both.insert(both.end(), {5});  // a second text of two words, whose one span is its whole
  EXPECT_EQ(parsed({4, 2}, both, {0, 0}, {}), (std::vector<int32_t>{1, 7, 3, 7}));
}

}  // namespace
}  // namespace hone::ops
