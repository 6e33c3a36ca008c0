// AdamW with moments of 8 bits against its definition in double, block by block, on every
// instruction set; and the map of codes.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/adamw.h"
#include "kernels/cpu/kernel_test.h"
#include "tensor/dynamic_map.h"

namespace hone::kernels {
namespace {

/// bitsandbytes' create_dynamic_map, whose values are sorted, in double.
std::vector<double> sorted_map(bool is_signed) {
  std::vector<double> values = {0, 1};
  for (int i = 0; i < 7; ++i) {
    const int parts = is_signed ? 1 << i : 1 << (i + 1);
    for (int k = 0; k < parts; ++k) {
      const double step = 0.9 / parts;
      const double middle = (0.1 + step * k + 0.1 + step * (k + 1)) / 2;
      values.push_back(std::pow(10., i - 6) * middle);
      if (is_signed) values.push_back(-values.back());
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

TEST(DynamicMapOf, HasTheValuesOfBitsandbytes) {
  for (const bool is_signed : {false, true}) {
    const DynamicMap& map = is_signed ? kSignedMap : kUnsignedMap;
    const std::vector<double> values = sorted_map(is_signed);
    ASSERT_EQ(values.size(), 256u);
    for (size_t code = 0; code < 256; ++code) {
      EXPECT_NEAR(map.value(uint8_t(code)), values[code], 1e-7 * std::abs(values[code])) << code;
      EXPECT_EQ(map.code(map.value(uint8_t(code))), code);
    }
  }
  // Values that its version 0.46 gives.
  EXPECT_FLOAT_EQ(kSignedMap.value(254), 0.99296875f);
  EXPECT_FLOAT_EQ(kUnsignedMap.value(1), 3.25e-7f);
}

double distance(const std::vector<double>& values, double x) {
  const auto above = std::lower_bound(values.begin(), values.end(), x);
  double least = 9;
  if (above != values.end()) least = *above - x;
  if (above != values.begin()) least = std::min(least, x - *(above - 1));
  return least;
}

TEST(DynamicMapOf, GivesTheNearestValue) {
  for (const bool is_signed : {false, true}) {
    const DynamicMap& map = is_signed ? kSignedMap : kUnsignedMap;
    const std::vector<double> values = sorted_map(is_signed);
    // Every 97th number tells all buckets and both sides of all middles.
    for (uint32_t bits = 0; bits <= 0x3f800000u; bits += 97) {
      const auto x = std::bit_cast<float>(bits);
      ASSERT_LE(std::abs(map.value(map.code(x)) - x), distance(values, x) + 1e-7 * x) << x;
      if (!is_signed) continue;
      ASSERT_LE(std::abs(map.value(map.code(-x)) + x), distance(values, -x) + 1e-7 * x) << -x;
    }
  }
}

/// A range of `count` elements whose parameters and gradients lie elsewhere than its moments.
struct Quantized {
  static constexpr int64_t kAt = 512, kShift = 40, kGradientShift = 80;

  explicit Quantized(int64_t count_)
      : count(count_),
        parameters(random_values<float>(kAt + kShift + count, 1)),
        gradients(kAt + kGradientShift + count) {
    const int64_t room = kAt + (count + 255) / 256 * 256;
    m.resize(room), v.resize(room);
    m_scales.resize(room / 256), v_scales.resize(room / 256);
  }
  void step(const AdamW& options, GradientUse use, ThreadPool& pool) {
    const ParameterRange range{kAt, kAt + count, true, 0.5f, kShift, kGradientShift};
    adamw_8bit(options, {&range, 1}, use,
               {parameters.data(),
                gradients.data(),
                {m.data(), m_scales.data()},
                {v.data(), v_scales.data()}},
               pool);
  }
  std::vector<double> decoded(bool first) const {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = kAt + i;
      values.push_back(first ? double{kSignedMap.value(m[at])} * m_scales[at / 256]
                             : double{kUnsignedMap.value(v[at])} * v_scales[at / 256]);
    }
    return values;
  }

  int64_t count;
  std::vector<float> parameters, gradients;
  std::vector<uint8_t> m, v;
  std::vector<float> m_scales, v_scales;
};

/// Every code is the value next to what the update in double gives, and scales are the largest.
void expect_nearest(const std::vector<double>& exact, const std::vector<double>& kept,
                    bool is_signed) {
  const std::vector<double> values = sorted_map(is_signed);
  for (size_t block = 0; block < exact.size(); block += 256) {
    const size_t end = std::min(exact.size(), block + 256);
    double scale = 0;
    for (size_t i = block; i < end; ++i) scale = std::max(scale, std::abs(exact[i]));
    for (size_t i = block; i < end; ++i) {
      ASSERT_LE(std::abs(kept[i] - exact[i]), scale * (distance(values, exact[i] / scale) + 1e-6))
          << i;
    }
  }
}

TEST(AdamW8bitOf, FollowsItsDefinition) {
  const AdamW options{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.1};
  ThreadPool pool(2);
  for (const int64_t count : {1, 255, 256, 257, 40000}) {
    for_each_isa([&] {
      Quantized state(count);
      const std::vector<float> start = state.parameters;
      for (int number = 1; number <= 4; ++number) {
        AdamW now = options;
        now.step = number;
        const std::vector<float> drawn = random_values<float>(count, 10 + number);
        std::copy_n(drawn.data(), count, state.gradients.data() + state.kAt + state.kGradientShift);
        std::vector<double> m = state.decoded(true), v = state.decoded(false);
        std::vector<double> p;
        for (int64_t i = 0; i < count; ++i) {
          const double g = 0.25 * drawn[i], lr = 0.5 * now.lr;
          m[i] += (1 - now.beta1) * (g - m[i]);
          v[i] = now.beta2 * v[i] + (1 - now.beta2) * g * g;
          const double root = std::sqrt(v[i] / (1 - std::pow(now.beta2, number))) + now.eps;
          p.push_back(state.parameters[state.kAt + state.kShift + i] * (1 - lr * 0.1) -
                      lr / (1 - std::pow(now.beta1, number)) * m[i] / root);
        }
        state.step(now, {0.25f, true}, pool);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_NEAR(state.parameters[state.kAt + state.kShift + i], p[i], 2e-6) << i;
          ASSERT_EQ(state.gradients[state.kAt + state.kGradientShift + i], 0.0f);
        }
        expect_nearest(m, state.decoded(true), true);
        expect_nearest(v, state.decoded(false), false);
      }
      for (int64_t i = 0; i < state.kAt + state.kShift; ++i) {
        ASSERT_EQ(state.parameters[i], start[i]) << "outside the range, at " << i;
      }
    });
  }
}

TEST(AdamW8bitOf, ABlockOfZerosStaysAndTinyGradientsAreNoNan) {
  ThreadPool pool(1);
  for (const float gradient : {0.0f, 1e-20f, 1e-38f, 1e18f}) {
    for_each_isa([&] {
      Quantized state(300);
      std::fill(state.gradients.begin(), state.gradients.end(), gradient);
      state.step({.lr = 0.1, .weight_decay = 0}, {}, pool);
      state.step({.lr = 0.1, .weight_decay = 0, .step = 2}, {}, pool);
      for (const float p : state.parameters) ASSERT_TRUE(std::isfinite(p));
      for (const double m : state.decoded(true)) ASSERT_TRUE(std::isfinite(m));
    });
  }
}

TEST(AdamW8bitOf, IsTheSameForAnyThreads) {
  Quantized one(100000), three(100000);
  for (auto* state : {&one, &three}) {
    ThreadPool pool(state == &one ? 1 : 3);
    for (int number = 1; number <= 3; ++number) {
      state->gradients = random_values<float>(std::ssize(state->gradients), 20 + number);
      state->step({.lr = 0.1, .step = number}, {}, pool);
    }
  }
  EXPECT_EQ(one.parameters, three.parameters);
  EXPECT_EQ(one.m, three.m);
  EXPECT_EQ(one.v_scales, three.v_scales);
}

}  // namespace
}  // namespace hone::kernels
