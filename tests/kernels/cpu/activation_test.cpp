#include "kernels/cpu/activation.h"

#include "kernels/cpu/kernel_test.h"
#include "kernels/cpu/softmax.h"

namespace hone::kernels {
namespace {

constexpr float kInf = INFINITY;
const float kNan = std::bit_cast<float>(0x7fffffffu);  // a payload that survives no bit tricks

double reference(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh: {
      const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      return x / (1 + std::exp(-2 * u));
    }
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    default:
      return x;
  }
}

constexpr Activation kAll[] = {Activation::none, Activation::gelu, Activation::gelu_tanh,
                               Activation::relu, Activation::silu, Activation::tanh};

template <typename T>
std::vector<T> applied(Activation activation, const std::vector<T>& x, int threads = 1) {
  ThreadPool pool(threads);
  std::vector<T> y(x.size());
  activate(activation, x.data(), static_cast<int64_t>(x.size()), y.data(), pool);
  return y;
}

TEST(Activation, ValuesOverTheRange) {
  std::vector<float> x;
  for (int i = -100'000; i <= 100'000; ++i) x.push_back(static_cast<float>(i) * 2e-4f);
  for (int e = -40; e <= 30; ++e) {
    for (const float sign : {1.0f, -1.0f}) x.push_back(std::ldexp(sign * 1.37f, e));
  }
  for_each_isa([&] {
    for (const Activation activation : kAll) {
      SCOPED_TRACE(static_cast<int>(activation));
      const std::vector<float> y = applied(activation, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = reference(activation, x[i]);
        const double size = std::max(1.0, std::abs(double{x[i]}));
        ASSERT_NEAR(y[i], expected, 1.4e-7 * size) << "of " << x[i];
      }
    }
  });
}

TEST(Activation, TanhIsRelativelyExact) {
  std::vector<float> x;
  for (int i = 1; i <= 100'000; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
  for_each_isa([&] {
    const std::vector<float> y = applied(Activation::tanh, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = std::tanh(double{x[i]});
      ASSERT_NEAR(y[i], expected, 2 * 1.2e-7 * expected) << "of " << x[i];
    }
  });
}

TEST(Activation, LimitsAndNan) {
  for_each_isa([&] {
    for (const Activation activation : kAll) {
      SCOPED_TRACE(static_cast<int>(activation));
      const std::vector<float> y = applied<float>(activation, {kNan, kInf, 0.0f, 3e38f});
      EXPECT_TRUE(std::isnan(y[0]));
      EXPECT_EQ(y[1], activation == Activation::tanh ? 1.0f : kInf);
      EXPECT_EQ(y[2], 0.0f);
      EXPECT_EQ(y[3], activation == Activation::tanh ? 1.0f : 3e38f);
    }
    EXPECT_EQ(applied(Activation::tanh, std::vector<float>{-kInf})[0], -1.0f);
    EXPECT_EQ(applied(Activation::gelu, std::vector<float>{-kInf})[0], 0.0f);
    EXPECT_EQ(applied(Activation::relu, std::vector<float>{-kInf})[0], 0.0f);
  });
}

template <typename T>
class ActivationOf : public testing::Test {};
TYPED_TEST_SUITE(ActivationOf, StorageTypes);

TYPED_TEST(ActivationOf, EveryCountThreadCountAndInPlace) {
  for (const int64_t count : {0, 1, 7, 15, 16, 17, 31, 8191, 8192, 8193, 20'000}) {
    const std::vector<TypeParam> x = random_values<TypeParam>(count, 3);
    std::vector<double> expected;
    for (const TypeParam value : x)
      expected.push_back(reference(Activation::gelu, to_float(value)));
    for_each_isa([&] {
      const std::vector<TypeParam> y = applied(Activation::gelu, x);
      expect_close(y, expected, 1e-6);
      for (const int threads : {2, 3}) {
        const std::vector<TypeParam> again = applied(Activation::gelu, x, threads);
        EXPECT_TRUE(same_bits(again.data(), y.data(), count));
      }
      std::vector<TypeParam> in_place = x;
      ThreadPool pool(1);
      activate(Activation::gelu, in_place.data(), count, in_place.data(), pool);
      EXPECT_TRUE(same_bits(in_place.data(), y.data(), count));
    });
  }
}

TEST(Softmax, RowsOfEveryWidth) {
  for (const int64_t width : {1, 2, 7, 15, 16, 17, 33, 1000}) {
    const std::vector<float> x = random_values<float>(3 * width, 4, 20.0f);
    std::vector<double> expected(x.size());
    for (int64_t row = 0; row < 3; ++row) {
      double total = 0;
      const float* in = x.data() + row * width;
      const double largest = *std::max_element(in, in + width);
      for (int64_t i = 0; i < width; ++i) total += std::exp(in[i] - largest);
      for (int64_t i = 0; i < width; ++i) {
        expected[row * width + i] = std::exp(in[i] - largest) / total;
      }
    }
    for_each_isa([&] {
      std::vector<float> y = x;
      softmax_rows(y.data(), 3, width, y.data());
      expect_close(y, expected, 4e-7);
    });
  }
}

TEST(Softmax, ExtremeLogits) {
  for_each_isa([&] {
    const std::vector<float> x = {3e38f, -3e38f, 1.0f, -kInf, 1.0f, 1.0f, kNan, 0.0f, 0.0f};
    std::vector<float> y(x.size());
    softmax_rows(x.data(), 3, 3, y.data());
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_EQ(y[4], 0.5f);
    EXPECT_TRUE(std::isnan(y[7]));
  });
}

TEST(Sigmoid, ValuesAndLimits) {
  std::vector<float> x = random_values<float>(1001, 5, 10.0f);
  x.insert(x.end(), {kInf, -kInf, kNan, 200.0f, -200.0f});
  for_each_isa([&] {
    std::vector<float> y(x.size());
    sigmoid(x.data(), static_cast<int64_t>(x.size()), y.data());
    for (size_t i = 0; i < 1001; ++i) {
      const double expected = 1 / (1 + std::exp(-double{x[i]}));
      ASSERT_NEAR(y[i], expected, 3e-7 * expected) << "of " << x[i];
    }
    EXPECT_EQ(y[1001], 1.0f);
    EXPECT_EQ(y[1002], 0.0f);
    EXPECT_TRUE(std::isnan(y[1003]));
    EXPECT_EQ(y[1004], 1.0f);
    EXPECT_EQ(y[1005], 0.0f);
  });
}

}  // namespace
}  // namespace hone::kernels
