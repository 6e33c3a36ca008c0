#include <algorithm>

#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/gradient_check.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/pooling.h"
#include "ops/scale.h"

namespace hone::ops {
namespace {

using kernels::Activation;

struct Shape {
  int64_t rows;
  int64_t width;
};

Extents tokens(int64_t count) {
  Extents extents;
  extents[Axis::tokens] = count;
  return extents;
}

CheckedInput input(const Shape& shape, unsigned seed) {
  return {Axis::tokens, shape.width, draw(shape.rows * shape.width, seed)};
}

CheckedWeight matrix(int64_t rows, int64_t width, unsigned seed) {
  return {rows, width, draw(rows * width, seed), true};
}

CheckedWeight table(int64_t rows, int64_t width, unsigned seed) {
  return {rows, width, draw(rows * width, seed)};
}

CheckedWeight vector_of(int64_t width, unsigned seed) { return table(1, width, seed); }

/// All that follows takes rows of one kind.
class Table {
 public:
  void add_linears(const Shape& s) {
    for (const Activation activation : {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                        Activation::relu, Activation::silu, Activation::tanh}) {
      add(s, "linear_with_activation_" + std::to_string(static_cast<int>(activation)),
          {input(s, 1)}, {matrix(5, s.width, 2), vector_of(5, 3)},
          [activation](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
            return linear(tape, x[0], w[0], w[1], form.isa,
                          {.activation = activation, .out = form.dtype});
          });
    }
    for (const size_t frozen : {0, 1}) {
      add(s, "linear_with_frozen_" + std::string(frozen == 0 ? "weight" : "bias"), {input(s, 1)},
          {matrix(5, s.width, 2), vector_of(5, 3)},
          [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
            return linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
          });
      cases.back().frozen = {frozen};
    }
    add(s, "two_linears_with_gelu_between", {input(s, 1)},
        {matrix(6, s.width, 2), vector_of(6, 3), matrix(4, 6, 4), vector_of(4, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa,
                                 {.activation = Activation::gelu, .out = form.dtype});
          return linear(tape, y, w[2], w[3], form.isa,
                        {.activation = Activation::tanh, .out = form.dtype});
        });
    add(s, "two_linears_that_read_a_gelu", {input(s, 1)},
        {matrix(6, s.width, 2), vector_of(6, 3), matrix(4, 6, 4), matrix(4, 6, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa,
                                 {.activation = Activation::gelu, .out = form.dtype});
          const Value z = linear(tape, y, w[2], {}, form.isa, {.out = form.dtype});
          return linear(tape, y, w[3], {}, form.isa, {.into = z});
        });
  }

  /// An adapter of rank 2 beside the last 3 columns of 7.
  void add_adapter(const Shape& s) {
    add(s, "linear_into_a_part_of_another", {input(s, 1)},
        {matrix(7, s.width, 2), vector_of(7, 3), matrix(2, s.width, 4), matrix(3, 2, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
          const Value low = linear(tape, x[0], w[2], {}, form.isa, {.out = form.dtype});
          linear(tape, scale(tape, low, 0.5f), w[3], {}, form.isa, {.into = y, .column = 4});
          return activate(tape, y, Activation::gelu);
        });
  }

  void add_norms(const Shape& s) {
    add(s, "layer_norm", {input(s, 1), input(s, 2)}, {vector_of(s.width, 3), vector_of(s.width, 4)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          return layer_norm(tape, x[0], {w[0], w[1], 1e-2f}, {.residual = x[1], .out = form.dtype});
        });
    add(s, "two_linears_and_a_residual", {input(s, 1)},
        {matrix(s.width, s.width, 2), vector_of(s.width, 3), vector_of(s.width, 4),
         vector_of(s.width, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
          const Value z = linear(tape, y, w[0], w[1], form.isa, {.out = form.dtype});
          return layer_norm(tape, z, {w[2], w[3], 1e-2f}, {.residual = x[0], .out = form.dtype});
        });
    add(s, "linears_and_a_residual_behind_a_norm", {input(s, 1), input(s, 2)},
        {vector_of(s.width, 3), vector_of(s.width, 4), matrix(6, s.width, 5), vector_of(6, 6),
         matrix(s.width, 6, 7), matrix(s.width, s.width, 8)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const NormParameters norm{w[0], w[1], 1e-2f};
          const Value y = layer_norm(tape, x[0], norm, {.residual = x[1], .out = form.dtype});
          const Value z = linear(tape, y, w[2], w[3], form.isa,
                                 {.activation = Activation::gelu, .out = form.dtype});
          const Value out = linear(tape, z, w[4], {}, form.isa, {.out = form.dtype});
          linear(tape, y, w[5], {}, form.isa, {.into = out});
          return layer_norm(tape, out, norm, {.residual = y, .out = form.dtype});
        });
    add(s, "scale", {input(s, 1)}, {}, [](Tape& tape, const auto& x, const auto&, const OpForm&) {
      return scale(tape, x[0], -0.3f);
    });
  }

  void add_embedding(const Shape& s) {
    CheckedInput ids{Axis::tokens, 1, {}, {}};
    CheckedInput places = ids;
    CheckedInput types = ids;
    for (int64_t t = 0; t < std::max<int64_t>(s.rows, 1); ++t) {
      ids.indices.push_back(static_cast<int32_t>(t * 5 % 4));
      places.indices.push_back(static_cast<int32_t>(t % 3));
      types.indices.push_back(static_cast<int32_t>(t % 2));
    }
    add(s, "embedding", {ids, places, types},
        {table(4, s.width, 1), table(3, s.width, 2), table(2, s.width, 3), vector_of(s.width, 4),
         vector_of(s.width, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          return embed_tokens(tape, {x[0], x[1], x[2]}, {w[0], w[1], w[2], {w[3], w[4], 1e-2f}},
                              form.dtype);
        });
  }

  struct AttentionCase {
    std::vector<int32_t> lengths;
    int64_t heads;
    int64_t size;
    bool reads = false;  ///< the first query of each sequence alone
    std::optional<RelativePositions> relative = {};
  };
  void add_attention(const AttentionCase& c) {
    const Axis queries = c.reads ? Axis::reads : Axis::tokens;
    CheckedInput offsets{Axis::sequences, 1, {}, {0}, Filler::last};
    CheckedInput q_offsets = offsets;
    CheckedInput places{queries, 1, {}, {}};
    Extents extents;
    std::string name = "attention_of";
    for (const int32_t length : c.lengths) {
      const int32_t count = c.reads ? 1 : length;
      offsets.indices.push_back(offsets.indices.back() + length);
      q_offsets.indices.push_back(q_offsets.indices.back() + count);
      for (int32_t i = 0; i < count; ++i) places.indices.push_back(i);
      extents.longest = std::max<int64_t>(extents.longest, length);
      name += "_" + std::to_string(length);
    }
    extents[Axis::tokens] = offsets.indices.back();
    extents[Axis::sequences] = extents[Axis::reads] = std::ssize(c.lengths);
    const int64_t hidden = c.heads * c.size;
    constexpr int64_t kDistances = 2 * 80 - 1;
    std::vector<CheckedWeight> weights;
    if (c.relative) weights.push_back(table(kDistances, c.size, 3));
    const bool with_keys = c.relative && c.relative->with_keys;
    name += "_heads_of_" + std::to_string(c.size) + (c.reads ? "_first_queries" : "");
    if (c.relative) name += with_keys ? "_relative_key_query" : "_relative_key";
    cases.push_back(
        {name,
         extents,
         {{queries, hidden, draw(extents[queries] * hidden, 1)},
          {Axis::tokens, 2 * hidden, draw(extents[Axis::tokens] * 2 * hidden, 2)},
          q_offsets,
          offsets,
          places},
         weights,
         [heads = c.heads, with_keys](Tape& tape, const auto& x, const auto& w, const OpForm&) {
           AttentionInputs in;
           in.q = x[0];
           in.kv = x[1];
           in.q_offsets = x[2];
           in.offsets = x[3];
           in.q_places = x[4];
           in.heads = heads;
           RelativePositions distances;
           if (!w.empty()) distances = {w[0], with_keys};
           return attention(tape, in, distances);
         }});
  }

  void add_gather() {
    const Shape s{5, 3};
    add(s, "gather", {input(s, 1), {Axis::reads, 1, {}, {3, 0}, Filler::minus_one}},
        {matrix(3, 3, 2), vector_of(3, 3)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
          return gather_rows(tape, y, x[1]);
        });
    cases.back().extents[Axis::reads] = 2;
  }

  std::vector<GradientCase> cases;

 private:
  template <typename Record>
  void add(const Shape& shape, const std::string& name, std::vector<CheckedInput> inputs,
           std::vector<CheckedWeight> weights, Record record) {
    cases.push_back({name + "_" + std::to_string(shape.rows) + "x" + std::to_string(shape.width),
                     tokens(shape.rows), std::move(inputs), std::move(weights), std::move(record)});
  }
};

std::vector<GradientCase> make_cases() {
  Table table;
  for (const Shape& s : {Shape{0, 8}, Shape{1, 1}, Shape{1, 7}, Shape{3, 8}, Shape{9, 33},
                         Shape{17, 16}, Shape{33, 64}}) {
    table.add_linears(s);
    table.add_adapter(s);
    table.add_norms(s);
    table.add_embedding(s);
  }
  for (const bool reads : {false, true}) {
    table.add_attention({{1}, 1, 1, reads});
    table.add_attention({{7, 1, 17, 16}, 2, 5, reads});
    table.add_attention({{33}, 1, 8, reads});
    table.add_attention({{33, 1, 65}, 2, 32, reads});  // what tensor cores take
    for (const bool with_keys : {false, true}) {
      table.add_attention({{7, 1, 17}, 2, 5, reads, RelativePositions{{}, with_keys}});
      table.add_attention({{33, 65}, 2, 32, reads, RelativePositions{{}, with_keys}});
    }
  }
  table.add_gather();
  return std::move(table.cases);
}

}  // namespace

const std::vector<GradientCase>& gradient_cases() {
  static const std::vector<GradientCase> cases = make_cases();
  return cases;
}

}  // namespace hone::ops
