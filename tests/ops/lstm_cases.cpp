// The recurrence of an LSTM over packed sequences, and stacks of it as models have them.
#include "ops/binary_logits.h"
#include "ops/case_arrays.h"
#include "ops/convert.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/lstm.h"

namespace hone::ops {
namespace {

struct LstmSetting {
  std::vector<int32_t> lengths;
  int64_t hidden;
  int64_t inputs = 0;  ///< width of the rows before a linear layer; 0: x is given
  int layers = 1;
  float drop = 0;
  std::vector<size_t> frozen = {};
};

struct Lengths {
  CheckedInput offsets{kSequences, 1, {}, {0}, Filler::last};
  std::vector<int64_t> samples;
  std::vector<int32_t> places;
  Extents extents;

  explicit Lengths(const std::vector<int32_t>& lengths) {
    for (const int32_t length : lengths) {
      offsets.indices.push_back(offsets.indices.back() + length);
      for (int32_t i = 0; i < length; ++i) {
        samples.push_back(std::ssize(offsets.indices));
        places.push_back(i);
      }
      extents[kLongest] = std::max<int64_t>(extents[kLongest], length);
    }
    extents[kTokens] = offsets.indices.back();
    extents[kSequences] = extents[kReads] = std::ssize(lengths);
  }
};

std::string name_of(const LstmSetting& c) {
  std::string name = "lstm_of";
  for (const int32_t length : c.lengths) name += "_" + std::to_string(length);
  name += "_hidden_" + std::to_string(c.hidden) + "_layers_" + std::to_string(c.layers);
  for (const size_t slot : c.frozen) name += "_frozen_" + std::to_string(slot);
  return name + (c.drop > 0 ? "_dropped" : "") + (c.inputs > 0 ? "_behind_linears" : "");
}

/// Weights are of the size that PyTorch starts with, so that gates do not saturate.
CheckedWeight scaled(CheckedWeight weight, double scale) {
  for (double& value : weight.values) value *= scale;
  return weight;
}

GradientCase lstm_gradient(const LstmSetting& c) {
  Lengths lengths(c.lengths);
  GradientCase made;
  made.name = name_of(c);
  made.extents = lengths.extents;
  made.frozen = c.frozen;
  const int64_t tokens = made.extents[kTokens];
  const int64_t width = c.inputs > 0 ? c.inputs : 4 * c.hidden;
  made.inputs = {{kTokens, width, draw(tokens * width, 1)}, lengths.offsets};
  const double scale = 1 / std::sqrt(static_cast<double>(c.hidden));
  for (int layer = 0; layer < c.layers; ++layer) {
    const auto seed = static_cast<unsigned>(10 * layer);
    if (c.inputs > 0) {
      made.weights.push_back(
          scaled(matrix(4 * c.hidden, layer == 0 ? c.inputs : c.hidden, seed + 2), scale));
      made.weights.push_back(scaled(vector_of(4 * c.hidden, seed + 3), scale));
    }
    made.weights.push_back(scaled(matrix(4 * c.hidden, c.hidden, seed + 4), scale));
    made.weights.push_back(scaled(vector_of(4 * c.hidden, seed + 5), scale));
  }
  if (c.drop > 0) add_drop_arrays(made.inputs, kTokens, lengths.samples, lengths.places);
  made.record = [c](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    Value h = x[0];
    size_t slot = 0;
    for (int layer = 0; layer < c.layers; ++layer) {
      if (layer > 0 && c.drop > 0) h = dropout(tape, h, last_site(x, c.drop, 6));
      if (c.inputs > 0) {
        h = linear(tape, h, w[slot], w[slot + 1], form.isa, {.out = form.dtype});
        slot += 2;
      }
      h = lstm(tape, h, {w[slot], w[slot + 1]}, x[1], form.isa);
      slot += 2;
    }
    return h;
  };
  return made;
}

GradientCase words_gradient() {
  GradientCase made;
  made.name = "embed_words";
  made.inputs = {{kTokens, 1, {}, {3, 0, 1, 3, 2, 1, 1}}};
  made.extents = tokens(7);
  made.weights = {table(5, 9, 1), matrix(4, 9, 2)};
  made.record = [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    const Value y = embed_words(tape, x[0], w[0], -1, form.dtype);
    return linear(tape, y, w[1], {}, form.isa, {.out = form.dtype});
  };
  return made;
}

GradientCase binary_gradient() {
  GradientCase made;
  made.name = "binary_logits";
  made.inputs = {{kTokens, 3, draw(5 * 3, 1)}};
  made.extents = tokens(5);
  made.weights = {matrix(1, 3, 2), vector_of(1, 3)};
  made.record = [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
    const DType wide = form.dtype == DType::f64 ? DType::f64 : DType::f32;
    const Value wide_x = convert(tape, x[0], wide);
    return binary_logits(tape, linear(tape, wide_x, w[0], w[1], form.isa, {.out = wide}));
  };
  return made;
}

}  // namespace

std::vector<GradientCase> lstm_gradient_cases() {
  std::vector<GradientCase> cases = {words_gradient(), binary_gradient()};
  for (const LstmSetting& c : std::vector<LstmSetting>{
           {{1}, 1},
           {{1}, 32},
           {{5}, 3},
           {{3, 7, 1, 7, 2}, 5},
           {{4, 1, 9}, 33},
           {{6, 2}, 64},
           {{3, 1}, 130},
           {{2, 3, 1, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 1, 2, 7, 3}, 7},
           {{3, 2}, 4, 0, 1, 0, {0}},
           {{3, 2}, 4, 0, 1, 0, {1}},
           {{5, 1, 3}, 6, 11, 2},
           {{5, 1, 3}, 32, 20, 2, 0.3f},
       }) {
    cases.push_back(lstm_gradient(c));
  }
  return cases;
}

}  // namespace hone::ops
