// Every op's backward pass, in double, over its table of shapes.
#include "ops/gradient_check.h"

#include "kernels/cpu/gemm.h"
#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/loss.h"
#include "ops/pooling.h"
#include "ops/scale.h"

namespace hone::ops {
namespace {

using kernels::Activation;

struct Shape {
  int64_t rows;
  int64_t width;
};

class Gradients : public testing::TestWithParam<Shape> {};

Extents tokens(int64_t count) {
  Extents extents;
  extents[Axis::tokens] = count;
  return extents;
}

CheckedInput input(int64_t rows, int64_t width, unsigned seed) {
  return {Axis::tokens, width, draw(rows * width, seed)};
}

CheckedWeight vector_of(int64_t width, unsigned seed) { return {1, width, draw(width, seed)}; }

CheckedWeight packed(Isa isa, int64_t rows, int64_t width, unsigned seed) {
  const auto values = draw(rows * width, seed);
  const std::vector<float> narrow(values.begin(), values.end());
  Buffer buffer(kernels::packed_bytes(isa, DType::f64, rows, width));
  kernels::pack_rows(isa, DType::f64, narrow.data(), 0, rows, rows, width, buffer.data());
  const auto* data = buffer.as<double>();
  return {rows, width, std::vector<double>(data, data + buffer.size() / sizeof(double))};
}

TEST_P(Gradients, LinearWithEveryActivation) {
  const auto [rows, width] = GetParam();
  const Isa isa = chosen_isa();
  for (const Activation activation : {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                      Activation::relu, Activation::silu, Activation::tanh}) {
    GradientCheck({"linear",
                   tokens(rows),
                   {input(rows, width, 1)},
                   {packed(isa, 5, width, 2), vector_of(5, 3)},
                   [&](Tape& tape, const auto& x, const auto& w) {
                     return linear(tape, x[0], w[0], w[1], isa,
                                   {.activation = activation, .out = DType::f64});
                   }})
        .run();
  }
}

TEST_P(Gradients, LinearIntoAPartOfAnother) {
  const auto [rows, width] = GetParam();
  const Isa isa = chosen_isa();
  GradientCheck(
      {"a linear layer with an adapter of rank 2 beside its last 3 columns of 7",
       tokens(rows),
       {input(rows, width, 1)},
       {packed(isa, 7, width, 2), vector_of(7, 3), packed(isa, 2, width, 4), packed(isa, 3, 2, 5)},
       [&](Tape& tape, const auto& x, const auto& w) {
         const Value y = linear(tape, x[0], w[0], w[1], isa, {.out = DType::f64});
         const Value low = linear(tape, x[0], w[2], {}, isa, {.out = DType::f64});
         linear(tape, scale(tape, low, 0.5f), w[3], {}, isa, {.into = y, .column = 4});
         return activate(tape, y, Activation::gelu);
       }})
      .run();
}

TEST_P(Gradients, LinearWithItsWeightOrBiasFrozen) {
  const auto [rows, width] = GetParam();
  const Isa isa = chosen_isa();
  for (const size_t frozen : {0, 1}) {
    GradientCheck({"linear",
                   tokens(rows),
                   {input(rows, width, 1)},
                   {packed(isa, 5, width, 2), vector_of(5, 3)},
                   [&](Tape& tape, const auto& x, const auto& w) {
                     return linear(tape, x[0], w[0], w[1], isa, {.out = DType::f64});
                   },
                   {frozen}})
        .run();
  }
}

TEST_P(Gradients, LinearAddsToWhatItsInputHas) {
  const auto [rows, width] = GetParam();
  const Isa isa = chosen_isa();
  GradientCheck(
      {"two linears and a residual",
       tokens(rows),
       {input(rows, width, 1)},
       {packed(isa, width, width, 2), vector_of(width, 3), vector_of(width, 4),
        vector_of(width, 5)},
       [&](Tape& tape, const auto& x, const auto& w) {
         const Value y = linear(tape, x[0], w[0], w[1], isa, {.out = DType::f64});
         const Value z = linear(tape, y, w[0], w[1], isa, {.out = DType::f64});
         return layer_norm(tape, z, {w[2], w[3], 1e-2f}, {.residual = x[0], .out = DType::f64});
       }})
      .run();
}

TEST_P(Gradients, LayerNorm) {
  const auto [rows, width] = GetParam();
  GradientCheck(
      {"layer_norm",
       tokens(rows),
       {input(rows, width, 1), input(rows, width, 2)},
       {vector_of(width, 3), vector_of(width, 4)},
       [](Tape& tape, const auto& x, const auto& w) {
         return layer_norm(tape, x[0], {w[0], w[1], 1e-2f}, {.residual = x[1], .out = DType::f64});
       }})
      .run();
}

TEST_P(Gradients, Embedding) {
  const int64_t rows = GetParam().rows;
  const int64_t width = GetParam().width;
  CheckedInput ids{Axis::tokens, 1, {}, {}};
  CheckedInput places = ids;
  CheckedInput types = ids;
  for (int64_t t = 0; t < std::max<int64_t>(rows, 1); ++t) {
    ids.indices.push_back(static_cast<int32_t>(t * 5 % 4));
    places.indices.push_back(static_cast<int32_t>(t % 3));
    types.indices.push_back(static_cast<int32_t>(t % 2));
  }
  const auto table = [&](int64_t entries, unsigned seed) {
    return CheckedWeight{entries, width, draw(entries * width, seed)};
  };
  GradientCheck({"embedding",
                 tokens(rows),
                 {ids, places, types},
                 {table(4, 1), table(3, 2), table(2, 3), vector_of(width, 4), vector_of(width, 5)},
                 [](Tape& tape, const auto& x, const auto& w) {
                   return embed_tokens(tape, {x[0], x[1], x[2]},
                                       {w[0], w[1], w[2], {w[3], w[4], 1e-2f}}, DType::f64);
                 }})
      .run();
}

INSTANTIATE_TEST_SUITE_P(Shapes, Gradients,
                         testing::Values(Shape{0, 8}, Shape{1, 1}, Shape{1, 7}, Shape{3, 8},
                                         Shape{9, 33}, Shape{17, 16}),
                         [](const auto& test) {
                           return std::to_string(test.param.rows) + "x" +
                                  std::to_string(test.param.width);
                         });

/// Attention over packed sequences; `reads` asks for the first query of each alone.
void check_attention(const std::vector<int32_t>& lengths, int64_t heads, int64_t size, bool reads,
                     bool relative) {
  Extents extents;
  CheckedInput offsets{Axis::sequences, 1, {}, {0}};
  CheckedInput q_offsets{Axis::sequences, 1, {}, {0}};
  CheckedInput places{Axis::reads, 1, {}, {}};
  for (const int32_t length : lengths) {
    const int32_t queries = reads ? 1 : length;
    offsets.indices.push_back(offsets.indices.back() + length);
    q_offsets.indices.push_back(q_offsets.indices.back() + queries);
    for (int32_t i = 0; i < queries; ++i) places.indices.push_back(i);
  }
  extents[Axis::tokens] = offsets.indices.back();
  extents[Axis::reads] = q_offsets.indices.back();
  extents[Axis::sequences] = static_cast<int64_t>(lengths.size());
  const int64_t hidden = heads * size;
  std::vector<CheckedWeight> weights;
  if (relative) weights.push_back({2 * 40 - 1, size, draw((2 * 40 - 1) * size, 3)});
  GradientCheck({"attention",
                 extents,
                 {{Axis::reads, hidden, draw(extents[Axis::reads] * hidden, 1)},
                  {Axis::tokens, 2 * hidden, draw(extents[Axis::tokens] * 2 * hidden, 2)},
                  q_offsets,
                  offsets,
                  places},
                 weights,
                 [&](Tape& tape, const auto& x, const auto& w) {
                   AttentionInputs in;
                   in.q = x[0];
                   in.kv = x[1];
                   in.q_offsets = x[2];
                   in.offsets = x[3];
                   in.q_places = x[4];
                   in.heads = heads;
                   RelativePositions distances;
                   if (relative) distances = {w[0], true};
                   return attention(tape, in, distances);
                 }})
      .run(16);
}

TEST(AttentionGradients, AllQueries) {
  check_attention({1}, 1, 1, false, false);
  check_attention({7, 1, 17, 16}, 2, 5, false, false);
  check_attention({33}, 1, 8, false, false);
}
TEST(AttentionGradients, FirstQueriesAlone) { check_attention({7, 1, 17}, 2, 5, true, false); }
TEST(AttentionGradients, RelativePositions) {
  check_attention({7, 1, 17}, 2, 5, false, true);
  check_attention({7, 3}, 2, 5, true, true);
}

TEST(GatherGradient, ScattersAndAdds) {
  Extents extents;
  extents[Axis::tokens] = 5;
  extents[Axis::reads] = 2;
  CheckedInput picks{Axis::reads, 1, {}, {3, 0}};
  const Isa isa = chosen_isa();
  GradientCheck({"gather",
                 extents,
                 {input(5, 3, 1), picks},
                 {packed(isa, 3, 3, 2), vector_of(3, 3)},
                 [&](Tape& tape, const auto& x, const auto& w) {
                   const Value y = linear(tape, x[0], w[0], w[1], isa, {.out = DType::f64});
                   return gather_rows(tape, y, x[1]);
                 }})
      .run();
}

}  // namespace
}  // namespace hone::ops
