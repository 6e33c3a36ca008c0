#include "device/memory.h"
#include "kernels/cpu/adamw.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cpu/sgd.h"
#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

constexpr AdamW kAdamW{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-6, .weight_decay = 0.1};
constexpr Sgd kSgd{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1};

/// Both optimisers' state over flat arrays, in T.
template <typename T>
struct State {
  explicit State(int64_t count) : m(count), v(count) {
    const auto values = random_values<float>(count, 1);
    parameters.assign(values.begin(), values.end());
    set_gradients(0);
  }
  void set_gradients(uint32_t step) {
    const auto values = random_values<float>(int64_t(parameters.size()), 100 + step);
    gradients.assign(values.begin(), values.end());
  }
  std::vector<T> parameters, gradients, m, v;
};

void reference(const AdamW& o, ParameterRanges ranges, GradientUse use, State<double>& s) {
  for (int64_t r = 0; r < ranges.count; ++r) {
    const ParameterRange& range = ranges.data[r];
    const double lr = o.lr * double{range.lr_scale};
    for (int64_t i = range.begin; i < range.end; ++i) {
      const double g = s.gradients[i] * double{use.scale};
      if (range.decay) s.parameters[i] *= 1 - lr * o.weight_decay;
      s.m[i] = o.beta1 * s.m[i] + (1 - o.beta1) * g;
      s.v[i] = o.beta2 * s.v[i] + (1 - o.beta2) * g * g;
      const double m = s.m[i] / (1 - std::pow(o.beta1, double(o.step)));
      const double v = s.v[i] / (1 - std::pow(o.beta2, double(o.step)));
      s.parameters[i] -= lr * m / (std::sqrt(v) + o.eps);
    }
  }
}

void reference(const Sgd& o, ParameterRanges ranges, GradientUse use, State<double>& s) {
  for (int64_t r = 0; r < ranges.count; ++r) {
    const ParameterRange& range = ranges.data[r];
    for (int64_t i = range.begin; i < range.end; ++i) {
      double g = s.gradients[i] * double{use.scale};
      if (range.decay) g += o.weight_decay * s.parameters[i];
      s.m[i] = o.momentum * s.m[i] + g;
      const double by = o.nesterov ? g + o.momentum * s.m[i] : s.m[i];
      s.parameters[i] -= o.lr * double{range.lr_scale} * by;
    }
  }
}

void step(const AdamW& o, ParameterRanges ranges, GradientUse use, State<float>& s,
          ThreadPool& pool) {
  adamw(o, ranges, use, {s.parameters.data(), s.gradients.data(), s.m.data(), s.v.data()}, pool);
}
void step(const Sgd& o, ParameterRanges ranges, GradientUse use, State<float>& s,
          ThreadPool& pool) {
  sgd(o, ranges, use, {s.parameters.data(), s.gradients.data(), s.m.data()}, pool);
}
AdamW at(AdamW o, int64_t number) {
  o.step = number;
  return o;
}
Sgd at(Sgd o, int64_t) { return o; }

template <typename Options>
void check_steps(const Options& options) {
  const int64_t count = 100000;
  const std::vector<ParameterRange> ranges = {
      {0, 1, true},           {1, 8, false},
      {8, 40000, true, 0.5f}, {40001, 40001, true},
      {40017, 40032, false},  // 40000 to 40016 are frozen
      {40032, 73001, true},   {73001, 99999, false, 2.0f},
  };
  const ParameterRanges table{ranges.data(), int64_t(ranges.size())};
  for_each_isa([&] {
    State<double> expected(count);
    std::vector<State<float>> states;
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      State<float> state(count);
      for (uint32_t number = 1; number <= 3; ++number) {
        state.set_gradients(number);
        const GradientUse use{.scale = 0.25f, .zero = number == 3};
        if (threads == 1) {
          expected.set_gradients(number);
          reference(at(options, number), table, use, expected);
        }
        step(at(options, number), table, use, state, pool);
      }
      states.push_back(state);
    }
    const State<float>& state = states[0];
    expect_close(state.parameters, expected.parameters, 2e-6);
    expect_close(state.m, expected.m, 1e-6);
    expect_close(state.v, expected.v, 1e-6);
    for (int64_t i = 0; i < count; ++i) {
      const bool frozen = (i >= 40000 && i < 40017) || i == 99999;
      ASSERT_EQ(state.gradients[i] == 0.0f, !frozen) << i;
    }
    for (const State<float>& other : states) {
      EXPECT_TRUE(same_bits(other.parameters.data(), state.parameters.data(), count));
      EXPECT_TRUE(same_bits(other.m.data(), state.m.data(), count));
    }
  });
}
TEST(AdamWOf, ThreeStepsOverRanges) { check_steps(kAdamW); }
TEST(SgdOf, ThreeStepsOverRanges) { check_steps(kSgd); }
TEST(SgdOf, ThreeStepsByNesterov) {
  check_steps(Sgd{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
}

/// The state of trainable parameters alone, beside parameters of which some are frozen.
template <typename Options>
void check_shift(const Options& options) {
  ThreadPool pool(2);
  State<float> dense(60), sparse(60);
  const std::vector<ParameterRange> all = {{0, 60, true}};
  const std::vector<ParameterRange> some = {{.begin = 0, .end = 20, .decay = true, .shift = 10},
                                            {.begin = 20, .end = 37, .decay = true, .shift = 20}};
  const std::vector<float> before = sparse.parameters;
  for (int64_t i = 0; i < 20; ++i) sparse.gradients[i] = dense.gradients[10 + i];
  for (int64_t i = 20; i < 37; ++i) sparse.gradients[i] = dense.gradients[20 + i];
  step(at(options, 1), {all.data(), 1}, {}, dense, pool);
  step(at(options, 1), {some.data(), 2}, {}, sparse, pool);
  for (int64_t i = 0; i < 60; ++i) {
    const bool trained = (i >= 10 && i < 30) || (i >= 40 && i < 57);
    EXPECT_EQ(sparse.parameters[i], trained ? dense.parameters[i] : before[i]) << i;
  }
}
TEST(AdamWOf, StateOfTrainableParametersAlone) { check_shift(kAdamW); }
TEST(SgdOf, StateOfTrainableParametersAlone) { check_shift(kSgd); }

/// Three steps of torch.optim of version 2.13 with the options above, in fp32.
template <typename Options>
void check_torch(const Options& options, const std::vector<double>& expected) {
  const ParameterRange range{0, 5, true};
  ThreadPool pool(1);
  for_each_isa([&] {
    State<float> state(5);
    state.parameters = {0.5f, -1.0f, 2.0f, 1e-3f, -3.0f};
    for (int number = 1; number <= 3; ++number) {
      state.gradients = {0.1f, 0.2f, 0.3f, 1e-4f, -1.0f};
      for (float& g : state.gradients) g *= float(number);
      step(at(options, number), {&range, 1}, {}, state, pool);
    }
    expect_close(state.parameters, expected, 2e-7);
  });
}
TEST(AdamWOf, AgreesWithTorch) {
  check_torch(kAdamW, {0.4693793058395386, -1.0261253118515015, 1.964883804321289,
                       -0.027922693639993668, -2.9618866443634033});
}
TEST(SgdOf, AgreesWithTorch) {
  check_torch(kSgd, {0.487693190574646, -1.0134031772613525, 1.9602769613265991,
                     0.0009848906192928553, -2.8881423473358154});
}

TEST(SgdOf, WithoutMomentumNeedsNoBuffer) {
  std::vector<float> p = {1.0f, 2.0f}, g = {0.5f, -0.5f};
  const ParameterRange range{0, 2, false};
  ThreadPool pool(1);
  sgd({.lr = 0.1}, {&range, 1}, {}, {p.data(), g.data(), nullptr}, pool);
  EXPECT_FLOAT_EQ(p[0], 0.95f);
  EXPECT_FLOAT_EQ(p[1], 2.05f);
  sgd({.lr = 0.1}, {nullptr, 0}, {}, {nullptr, nullptr, nullptr}, pool);
}

TEST(SumOfSquares, IsTheSameForAnyThreadsAndFiniteWhereAllIs) {
  for (const int64_t count : {0, 1, 7, 31, 32, 33, 32767, 32768, 32769, 200001}) {
    std::vector<float> x = random_values<float>(count, 1);
    const std::vector<double> wide = widened(x);
    for_each_isa([&] {
      Buffer workspace(sum_of_squares_workspace(count));
      double first = 0;
      for (const int threads : {1, 2, 3}) {
        ThreadPool pool(threads);
        const double sum = sum_of_squares(x.data(), count, workspace.data(), pool);
        EXPECT_NEAR(sum, dot(wide, wide), 1e-12 * double(count));
        if (threads == 1) first = sum;
        EXPECT_EQ(sum, first);
      }
      ThreadPool pool(1);
      for (const float bad : {INFINITY, -INFINITY, NAN}) {
        for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
          if (count == 0) continue;
          std::vector<float> broken = x;
          broken[at] = bad;
          EXPECT_FALSE(std::isfinite(sum_of_squares(broken.data(), count, workspace.data(), pool)));
        }
      }
      std::vector<float> large(count, 3e38f);
      EXPECT_TRUE(std::isfinite(sum_of_squares(large.data(), count, workspace.data(), pool)));
    });
  }
}

TEST(ClipCoefficient, BringsTheNormToItsLimit) {
  EXPECT_EQ(clip_coefficient(0.5, 1.0), 1.0);
  EXPECT_NEAR(clip_coefficient(4.0, 1.0), 1.0 / (4.0 + 1e-6), 1e-15);
  EXPECT_EQ(clip_coefficient(1e9, 0.0), 1.0);
}

}  // namespace
}  // namespace hone::kernels
