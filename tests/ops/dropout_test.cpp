// What training drops is dropped at all, where kernels::dropout_factor() says: the gradient cases
// hold a backward pass to its forward one, whatever that is.
#include "ops/dropout.h"

#include "kernels/cpu/attention_dropout.h"
#include "ops/attention.h"
#include "ops/case_arrays.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"

namespace hone::ops {
namespace {

constexpr float kDropShare = 0.4f;
constexpr uint64_t kDropSite = 6;
constexpr Shape kDropShape{9, 13};

/// The arrays that last_site() hands to a kernel, for rows of `input`.
kernels::Dropout drop_of(const std::vector<CheckedInput>& inputs) {
  const size_t at = inputs.size() - 3;
  const std::vector<int64_t>& random = inputs[at].numbers;
  return {kDropShare,
          kernels::dropout_key(static_cast<uint64_t>(random[0]), static_cast<uint64_t>(random[1]),
                               kDropSite),
          inputs[at + 1].numbers.data(), inputs[at + 2].indices.data()};
}

/// `values` of dense rows, times the factors.
std::vector<double> dropped(std::vector<double> values, const std::vector<CheckedInput>& inputs,
                            int64_t width) {
  const kernels::Dropout drop = drop_of(inputs);
  int64_t zeros = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const float factor =
        kernels::dropout_factor(drop, at / width, static_cast<uint32_t>(at % width));
    values[i] *= factor;
    zeros += factor == 0;
  }
  EXPECT_GT(zeros, 0);
  EXPECT_LT(zeros, std::ssize(values));
  return values;
}

void expect_equal(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-12) << i;
}

std::vector<double> output_of(const GradientCase& c) { return GradientCheck(c).result().output; }

TEST(Dropout, ScalesWhatItKeepsAndZeroesTheRest) {
  GradientCase c{"dropout", tokens(kDropShape.rows), {input(kDropShape, 1)}, {}, {}};
  add_drop_arrays(c.inputs, kDropShape.rows);
  c.record = [](Tape& tape, const auto& x, const auto&, const OpForm&) {
    return dropout(tape, x[0], last_site(x, kDropShare, kDropSite));
  };
  expect_equal(output_of(c), dropped(c.inputs[0].values, c.inputs, kDropShape.width));
}

TEST(Dropout, OfANormIsOfItsInputAlone) {
  GradientCase c{"norm",
                 tokens(kDropShape.rows),
                 {input(kDropShape, 1), input(kDropShape, 2)},
                 {vector_of(kDropShape.width, 3), vector_of(kDropShape.width, 4)},
                 {}};
  add_drop_arrays(c.inputs, kDropShape.rows);
  const auto record = [](float p) {
    return [p](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
      return layer_norm(
          tape, x[0], {w[0], w[1], 1e-2f},
          {.residual = x[1], .dropout = last_site(x, p, kDropSite), .out = form.dtype});
    };
  };
  c.record = record(kDropShare);
  const std::vector<double> got = output_of(c);
  c.inputs[0].values = dropped(c.inputs[0].values, c.inputs, kDropShape.width);
  c.record = record(0);
  expect_equal(got, output_of(c));
}

TEST(Dropout, OfEmbeddingsIsOfTheirOutput) {
  GradientCase c{
      "embedding",
      tokens(kDropShape.rows),
      embedding_ids(kDropShape.rows),
      {table(4, kDropShape.width, 1), table(3, kDropShape.width, 2), table(2, kDropShape.width, 3),
       vector_of(kDropShape.width, 4), vector_of(kDropShape.width, 5)},
      {}};
  add_drop_arrays(c.inputs, kDropShape.rows);
  const auto record = [](float p) {
    return [p](Tape& tape, const auto& x, const auto& w, const OpForm& form) {
      return embed_tokens(tape, {x[0], x[1], x[2]}, {w[0], w[1], w[2], {w[3], w[4], 1e-2f}},
                          form.dtype, last_site(x, p, kDropSite));
    };
  };
  c.record = record(0);
  const std::vector<double> wanted = dropped(output_of(c), c.inputs, kDropShape.width);
  c.record = record(kDropShare);
  expect_equal(output_of(c), wanted);
}

/// Softmax of the scores of one head of one sequence, times the factors, times the values.
std::vector<double> attended(const std::vector<double>& q, const std::vector<double>& kv,
                             int64_t length, int64_t size, const kernels::Dropout& drop) {
  std::vector<double> out(static_cast<size_t>(length * size));
  for (int64_t i = 0; i < length; ++i) {
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = 0; j < length; ++j) {
      double score = 0;
      for (int64_t k = 0; k < size; ++k) score += q[i * size + k] * kv[j * 2 * size + k];
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
      sum += weights.back();
    }
    for (int64_t j = 0; j < length; ++j) {
      const double p = weights[j] / sum * kernels::attention_factor(drop, i, 0, j);
      for (int64_t k = 0; k < size; ++k) out[i * size + k] += p * kv[j * 2 * size + size + k];
    }
  }
  return out;
}

TEST(Dropout, OfAttentionIsOfItsProbabilities) {
  constexpr int32_t kLength = 9;
  constexpr int64_t kSize = 4;
  GradientCase c{"attention",
                 tokens(kLength),
                 {input({kLength, kSize}, 1),
                  input({kLength, 2 * kSize}, 2),
                  {kSequences, 1, {}, {0, kLength}}},
                 {},
                 {}};
  c.extents[kSequences] = 1;
  c.extents[kLongest] = kLength;
  add_drop_arrays(c.inputs, kLength);
  c.record = [](Tape& tape, const auto& x, const auto&, const OpForm&) {
    AttentionInputs in;
    in.q = x[0];
    in.kv = x[1];
    in.q_offsets = in.offsets = x[2];
    in.q_places = x[5];
    in.longest = kLongest;
    in.dropout = last_site(x, kDropShare, kDropSite);
    return attention(tape, in);
  };
  const std::vector<double>& q = c.inputs[0].values;
  const std::vector<double>& kv = c.inputs[1].values;
  const std::vector<double> wanted = attended(q, kv, kLength, kSize, drop_of(c.inputs));
  EXPECT_NE(wanted, attended(q, kv, kLength, kSize, {}));
  const std::vector<double> got = output_of(c);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6) << i;
}

}  // namespace
}  // namespace hone::ops
