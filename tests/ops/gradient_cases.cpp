#include "ops/activation.h"
#include "ops/batch_norm.h"
#include "ops/case_arrays.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/pooling.h"
#include "ops/scale.h"

namespace hone::ops {
namespace {

using kernels::Activation;

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
    add(s, "embedding", embedding_ids(s.rows),
        {table(4, s.width, 1), table(3, s.width, 2), table(2, s.width, 3), vector_of(s.width, 4),
         vector_of(s.width, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          return embed_tokens(tape, {x[0], x[1], x[2]}, {w[0], w[1], w[2], {w[3], w[4], 1e-2f}},
                              form.dtype);
        });
  }

  /// The running statistics are written, and lead to nothing.
  void add_batch_norm(const Shape& s) {
    add(s, "batch_norm", {input(s, 1)},
        {vector_of(s.width, 2), vector_of(s.width, 3), vector_of(s.width, 4),
         vector_of(s.width, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm&) {
          return batch_norm(tape, x[0], {w[0], w[1], w[2], w[3], 1e-2f});
        });
    cases.back().frozen = {2, 3};
  }

  void add_gather() {
    const Shape s{5, 3};
    add(s, "gather", {input(s, 1), {kReads, 1, {}, {3, 0}, Filler::minus_one}},
        {matrix(3, 3, 2), vector_of(3, 3)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
          return gather_rows(tape, y, x[1]);
        });
    cases.back().extents[kReads] = 2;
  }

  std::vector<GradientCase> cases;

 private:
  template <typename Record>
  void add(const Shape& shape, const std::string& name, std::vector<CheckedInput> inputs,
           std::vector<CheckedWeight> weights, Record record) {
    cases.push_back({named(name, shape), tokens(shape.rows), std::move(inputs), std::move(weights),
                     std::move(record)});
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
  // Statistics are of the rows that there are: these are no fewer than a GPU's bucket has.
  for (const Shape& s : {Shape{8, 7}, Shape{16, 33}, Shape{32, 16}, Shape{2592, 24}})
    table.add_batch_norm(s);
  table.add_gather();
  for (const auto& more :
       {attention_gradient_cases(), dropout_gradient_cases(), loss_gradient_cases(),
        lstm_gradient_cases(), image_gradient_cases(), explain_gradient_cases()}) {
    table.cases.insert(table.cases.end(), more.begin(), more.end());
  }
  return std::move(table.cases);
}

}  // namespace

const std::vector<GradientCase>& gradient_cases() {
  static const std::vector<GradientCase> cases = make_cases();
  return cases;
}

}  // namespace hone::ops
