// What a parser and a self-explaining head do. Both compute in fp32 beside layers in less.
#include "ops/activation.h"
#include "ops/by_dtype.h"
#include "ops/case_arrays.h"
#include "ops/concept_attention.h"
#include "ops/convert.h"
#include "ops/linear.h"
#include "ops/phrases.h"
#include "ops/scale.h"
#include "ops/span_texts.h"
#include "ops/spans.h"

namespace hone::ops {
namespace {

Value widened(Tape& tape, Value x) { return convert(tape, x, accumulator_dtype(x.dtype)); }

std::vector<int32_t> at_least_one(std::vector<int32_t> values) {
  if (values.empty()) values.push_back(0);
  return values;
}

template <typename Numbers>
std::string named_by(std::string name, const Numbers& numbers) {
  for (const auto n : numbers) name += "_" + std::to_string(n);
  return name;
}

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

GradientCase phrases_gradient(const std::vector<int32_t>& lengths, int64_t width) {
  const PhraseTexts texts(lengths);
  GradientCase made;
  made.name = named_by("phrases_of_" + std::to_string(width), lengths);
  const auto count = static_cast<int64_t>(lengths.size());
  made.extents = tokens(texts.offsets.back());
  made.extents[kSequences] = count;
  made.extents[kPlaces] = texts.phrases.back();
  made.inputs = {{kTokens, width, draw(texts.offsets.back() * width, 1)},
                 {kSequences, width, draw(count * width, 2)},
                 {kSequences, 1, {}, texts.offsets, Filler::last},
                 {kSequences, 1, {}, texts.phrases, Filler::last},
                 {kPlaces, 2, {}, at_least_one(texts.spans)},
                 {kSequences, 3, draw(count * 3, 3)}};
  made.weights = {matrix(3, width, 4), vector_of(3, 5)};
  made.record = [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    const PhraseInputs places{x[2], x[3], x[4]};
    const Value rows = phrase_rows(tape, widened(tape, x[0]), widened(tape, x[1]), places);
    const Value z = linear(tape, rows, w[0], w[1], form.isa, {.out = rows.dtype});
    const Value means = phrase_means(tape, z, kSequences, places);
    return convert(tape, add_scaled(tape, widened(tape, x[5]), means, 0.3f), form.dtype);
  };
  return made;
}

/// An adapter of rank 2 beside a frozen layer whose rows make phrases.
GradientCase adapter_gradient() {
  GradientCase made = phrases_gradient({5, 2, 6}, 5);
  made.name = "phrases_behind_an_adapter";
  made.weights.insert(made.weights.end(), {matrix(5, 5, 6), matrix(2, 5, 7), matrix(5, 2, 8)});
  made.frozen = {2};
  made.record = [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    const PhraseInputs places{x[2], x[3], x[4]};
    const Value y = linear(tape, x[0], w[2], {}, form.isa, {.out = form.dtype});
    const Value low = linear(tape, x[0], w[3], {}, form.isa, {.out = form.dtype});
    linear(tape, scale(tape, low, 0.5f), w[4], {}, form.isa, {.into = y});
    const Value rows = phrase_rows(tape, widened(tape, y), widened(tape, x[1]), places);
    const Value z = linear(tape, rows, w[0], w[1], form.isa, {.out = rows.dtype});
    const Value means = phrase_means(tape, z, kSequences, places);
    return convert(tape, add_scaled(tape, widened(tape, x[5]), means, 0.3f), form.dtype);
  };
  return made;
}

GradientCase attention_gradient(int64_t texts, int64_t neighbours, int64_t width, int64_t heads,
                                bool some_missing) {
  GradientCase made;
  made.name = named_by("concepts", std::vector{texts, neighbours, width, heads}) +
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
  made.record = [heads](Tape& tape, const auto& x, const auto&, const OpForm& form) {
    const ConceptAttentionValues in{widened(tape, x[0]), widened(tape, x[1]), widened(tape, x[2]),
                                    x[3], heads};
    return convert(tape, attend_concepts(tape, in).context, form.dtype);
  };
  return made;
}

/// `given` says which texts have a tree; all where it is empty.
GradientCase spans_gradient(const std::vector<int32_t>& words, bool with_loss,
                            std::vector<int32_t> given = {}) {
  constexpr int64_t kWidth = 5;
  const SpanTexts texts(words);
  GradientCase made;
  const bool masked = !given.empty();
  made.name = named_by(with_loss ? "tree_loss" : "span_rows", words) + (masked ? "_masked" : "");
  given.resize(words.size(), 1);
  made.extents = tokens(texts.offsets.back());
  made.extents[kSequences] = static_cast<int64_t>(words.size());
  made.extents[kBounds] = texts.bounds.back();
  made.extents[kCells] = texts.cells.back();
  CheckedInput scale{Axis::one, 2, {3, 16}};
  scale.held = Held::f64;
  made.inputs = {{kTokens, 3, draw(texts.offsets.back() * 3, 1)},
                 {kSequences, 1, {}, texts.offsets, Filler::last},
                 {kSequences, 1, {}, texts.bounds, Filler::last},
                 {kSequences, 1, {}, texts.cells, Filler::last},
                 {kBounds, 1, {}, texts.before, Filler::minus_one},
                 {kBounds, 1, {}, texts.behind, Filler::minus_one},
                 {kCells, 1, {}, at_least_one(texts.gold)},
                 std::move(scale),
                 {kSequences, 1, {}, given}};
  made.weights = {matrix(4 * kWidth, 3, 2), vector_of(4 * kWidth, 3), matrix(1, kWidth, 4),
                  vector_of(1, 5)};
  if (with_loss) made.loss_scale = 16;
  made.record = [with_loss, masked](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    const SpanInputs spans{x[1], x[2], x[3], x[4], x[5], kCells};
    const Value shares = linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
    const Value rows =
        activate(tape, span_rows(tape, widened(tape, shares), spans), kernels::Activation::tanh);
    const Value scores = linear(tape, rows, w[2], w[3], form.isa, {.out = rows.dtype});
    if (!with_loss) return convert(tape, scores, form.dtype);
    return tree_loss(tape, {scores, x[6], spans, x[7], masked ? x[8] : Value{}}, 0.7);
  };
  return made;
}

}  // namespace

std::vector<GradientCase> explain_gradient_cases() {
  return {phrases_gradient({4}, 5),
          phrases_gradient({1, 7, 2, 10}, 5),
          phrases_gradient({6, 3}, 131),
          phrases_gradient({1}, 5),
          adapter_gradient(),
          attention_gradient(1, 1, 4, 1, false),
          attention_gradient(3, 5, 8, 4, false),
          attention_gradient(2, 40, 144, 2, false),
          attention_gradient(4, 3, 6, 2, true),
          spans_gradient({3}, false),
          spans_gradient({1, 5, 2}, false),
          spans_gradient({2}, true),
          spans_gradient({6}, true),
          spans_gradient({4, 1, 7, 3}, true),
          spans_gradient({4, 5, 3}, true, {1, 0, 1}),
          spans_gradient({40, 2}, true)};
}

}  // namespace hone::ops
