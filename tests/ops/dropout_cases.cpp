// Every op that drops, and the recipes that models make of it. A mask is a function of the place
// alone, so that differences see the same one above and below.
#include "ops/activation.h"
#include "ops/case_arrays.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/scale.h"

namespace hone::ops {
namespace {

using kernels::Activation;

constexpr float kDrop = 0.3f;

class DropTable {
 public:
  explicit DropTable(const Shape& shape) : s(shape) {}

  void add_dropout() {
    add("dropout", {input(s, 1)}, {}, [](Tape& tape, const auto& x, const auto&, const OpForm&) {
      return dropout(tape, x[0], last_site(x, kDrop, 4));
    });
    // The second product reads what is dropped once more in the backward pass.
    add("dropout_between_linears", {input(s, 1)},
        {matrix(6, s.width, 2), vector_of(6, 3), matrix(4, 6, 4)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa,
                                 {.activation = Activation::tanh, .out = form.dtype});
          return linear(tape, dropout(tape, y, last_site(x, kDrop, 5)), w[2], {}, form.isa,
                        {.out = form.dtype});
        });
  }

  void add_embedding() {
    add("embedding_with_dropout", embedding_ids(s.rows),
        {table(4, s.width, 1), table(3, s.width, 2), table(2, s.width, 3), vector_of(s.width, 4),
         vector_of(s.width, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          return embed_tokens(tape, {x[0], x[1], x[2]}, {w[0], w[1], w[2], {w[3], w[4], 1e-2f}},
                              form.dtype, last_site(x, kDrop, 0));
        });
  }

  void add_norms() {
    add("layer_norm_of_dropped", {input(s, 1), input(s, 2)},
        {vector_of(s.width, 3), vector_of(s.width, 4)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          return layer_norm(
              tape, x[0], {w[0], w[1], 1e-2f},
              {.residual = x[1], .dropout = last_site(x, kDrop, 2), .out = form.dtype});
        });
    // A layer's end: on a GPU the norm adds the product's bias, and gives its gradient.
    add("layer_norm_of_a_dropped_linear", {input(s, 1)},
        {matrix(s.width, s.width, 2), vector_of(s.width, 3), vector_of(s.width, 4),
         vector_of(s.width, 5)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const bool gpu = form.isa == Isa::none;
          const Value y =
              linear(tape, x[0], w[0], gpu ? Weight{} : w[1], form.isa, {.out = form.dtype});
          return layer_norm(tape, y, {w[2], w[3], 1e-2f},
                            {.residual = x[0],
                             .dropout = last_site(x, kDrop, 3),
                             .bias = gpu ? w[1] : Weight{},
                             .out = form.dtype});
        });
  }

  /// Two adapters of rank 2 beside one product, each with a site of its own, as nn::Linear has
  /// them.
  void add_adapters() {
    add("adapters_with_dropout", {input(s, 1)},
        {matrix(7, s.width, 2), vector_of(7, 3), matrix(2, s.width, 4), matrix(3, 2, 5),
         matrix(2, s.width, 6), matrix(4, 2, 7)},
        [](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
          const Value y = linear(tape, x[0], w[0], w[1], form.isa, {.out = form.dtype});
          const auto adapt = [&](const Weight& a, const Weight& b, int64_t column, uint64_t site) {
            const Value dropped = dropout(tape, x[0], last_site(x, kDrop, site));
            const Value low = linear(tape, dropped, a, {}, form.isa, {.out = form.dtype});
            linear(tape, scale(tape, low, 0.5f), b, {}, form.isa, {.into = y, .column = column});
          };
          adapt(w[2], w[3], 4, 11);
          adapt(w[4], w[5], 0, 12);
          return activate(tape, y, Activation::gelu);
        });
  }

  std::vector<GradientCase> cases;

 private:
  template <typename Record>
  void add(const std::string& name, std::vector<CheckedInput> inputs,
           std::vector<CheckedWeight> weights, Record record) {
    add_drop_arrays(inputs, s.rows);
    cases.push_back(
        {named(name, s), tokens(s.rows), std::move(inputs), std::move(weights), std::move(record)});
  }

  Shape s;
};

}  // namespace

std::vector<GradientCase> dropout_gradient_cases() {
  std::vector<GradientCase> cases;
  for (const Shape& s :
       {Shape{0, 8}, Shape{1, 1}, Shape{1, 7}, Shape{3, 8}, Shape{9, 33}, Shape{33, 64}}) {
    DropTable made(s);
    made.add_dropout();
    made.add_embedding();
    made.add_norms();
    made.add_adapters();
    std::move(made.cases.begin(), made.cases.end(), std::back_inserter(cases));
  }
  return cases;
}

}  // namespace hone::ops
