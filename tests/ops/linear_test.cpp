#include "ops/linear.h"

#include "kernels/cpu/gemm.h"
#include "ops/op_case.h"

namespace hone::ops {
namespace {

using kernels::Activation;

double reference(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(x, 0.);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    default:
      return x;
  }
}

class Linear : public testing::TestWithParam<OpCase> {};

TEST_P(Linear, GivesActivationOfProductPlusBias) {
  const OpCase& c = GetParam();
  const int64_t out = c.width % 2 ? 49 : 20;
  const auto x = values(c.rows * c.width, c.dtype, 1);
  auto weight = values(out * c.width, c.dtype, 2);
  for (float& w : weight) w *= 0.125f;
  const auto bias = values(out, DType::f32, 3);
  const Buffer x_stored = stored(x, c.dtype);
  for (const Activation activation : {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                      Activation::relu, Activation::silu, Activation::tanh}) {
    std::vector<double> wanted(static_cast<size_t>(c.rows * out));
    for (int64_t r = 0; r < c.rows; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = bias[static_cast<size_t>(o)];
        for (int64_t k = 0; k < c.width; ++k) {
          sum += static_cast<double>(x[static_cast<size_t>(r * c.width + k)]) *
                 weight[static_cast<size_t>(o * c.width + k)];
        }
        const auto at = static_cast<size_t>(r * out + o);
        wanted[at] = reference(activation, sum);
      }
    }
    on_every_isa([&](Isa isa, const std::string& name) {
      Buffer packed(kernels::packed_bytes(isa, c.dtype, out, c.width));
      kernels::pack_rows(isa, c.dtype, weight.data(), 0, out, out, c.width, packed.data());
      const std::vector<const void*> weights = {packed.data(), bias.data()};
      Plan plan;
      Tape tape(plan);
      const Value in = plan.input(c.dtype, kTokens, c.width);
      const Value y = linear(tape, in, {0, c.dtype, out, c.width}, {1, DType::f32, 1, out}, isa,
                             {.activation = activation, .out = c.dtype});
      plan.keep(y);
      ThreadPool pool(2);
      Runner runner(plan, weights, pool);
      Extents extents;
      extents[kTokens] = c.rows;
      runner.resize(extents);
      runner.bind(in, x_stored.data());
      runner.run();
      // A sum of `width` rounded products may cancel: the bound is that of the sum's terms.
      const double tolerance = c.tolerance() * std::max(1., std::sqrt(c.width) / 8);
      expect_close(loaded(runner.output<void>(y), c.dtype, c.rows * out), wanted, tolerance, name);
      EXPECT_DOUBLE_EQ(plan.flops(extents), 2. * static_cast<double>(c.rows * out * c.width));
    });
  }
}

TEST_P(Linear, AddsIntoColumnsOfAnother) {
  const OpCase& c = GetParam();
  constexpr int64_t kOut = 21, kShare = 9, kColumn = 11;
  const auto x = values(c.rows * c.width, c.dtype, 1);
  const Buffer x_stored = stored(x, c.dtype);
  auto weight = values((kOut + kShare) * c.width, c.dtype, 2);
  for (float& w : weight) w *= 0.125f;
  const float* adapter = weight.data() + kOut * c.width;
  const auto dot = [&](int64_t row, const float* w) {
    double sum = 0;
    for (int64_t k = 0; k < c.width; ++k) {
      sum += static_cast<double>(x[static_cast<size_t>(row * c.width + k)]) * w[k];
    }
    return sum;
  };
  std::vector<double> wanted;
  for (int64_t r = 0; r < c.rows; ++r) {
    for (int64_t o = 0; o < kOut; ++o) {
      const bool shared = o >= kColumn && o < kColumn + kShare;
      wanted.push_back(dot(r, weight.data() + o * c.width) +
                       (shared ? dot(r, adapter + (o - kColumn) * c.width) : 0));
    }
  }
  on_every_isa([&](Isa isa, const std::string& name) {
    const auto pack = [&](const float* rows, int64_t count) {
      Buffer packed(kernels::packed_bytes(isa, c.dtype, count, c.width));
      kernels::pack_rows(isa, c.dtype, rows, 0, count, count, c.width, packed.data());
      return packed;
    };
    const Buffer base = pack(weight.data(), kOut);
    const Buffer share = pack(adapter, kShare);
    const std::vector<const void*> weights = {base.data(), share.data()};
    Plan plan;
    Tape tape(plan);
    const Value in = plan.input(c.dtype, kTokens, c.width);
    const Value y = linear(tape, in, {0, c.dtype, kOut, c.width}, {}, isa, {.out = c.dtype});
    linear(tape, in, {1, c.dtype, kShare, c.width}, {}, isa, {.into = y, .column = kColumn});
    plan.keep(y);
    ThreadPool pool(2);
    Runner runner(plan, weights, pool);
    Extents extents;
    extents[kTokens] = c.rows;
    runner.resize(extents);
    runner.bind(in, x_stored.data());
    runner.run();
    const double tolerance = 2 * c.tolerance() * std::max(1., std::sqrt(c.width) / 8);
    expect_close(loaded(runner.output<void>(y), c.dtype, c.rows * kOut), wanted, tolerance, name);
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Linear, testing::ValuesIn(op_cases()), case_name);

}  // namespace
}  // namespace hone::ops
