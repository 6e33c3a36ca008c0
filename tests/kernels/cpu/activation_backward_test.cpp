#include "kernels/cpu/activation_backward.h"

#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

constexpr Activation kAll[] = {Activation::none, Activation::gelu, Activation::gelu_tanh,
                               Activation::relu, Activation::silu, Activation::tanh};

TEST(ActivationGradient, FiniteDifferences) {
  ThreadPool pool(1);
  for (const Activation activation : kAll) {
    SCOPED_TRACE(int(activation));
    std::vector<double> z = random_doubles(100, 1, 2.0f);
    const std::vector<double> dy = random_doubles(100, 2);
    std::vector<double> y(100), dz(100), again(100);
    const auto loss = [&] {
      activate(activation, z.data(), 100, y.data(), pool);
      return dot(y, dy);
    };
    loss();
    activation_backward(activation, dy.data(), z.data(), 100, dz.data(), again.data(), pool);
    EXPECT_EQ(again, y);
    expect_gradient(z, dz, loss);
  }
}

template <typename T>
class ActivationBackward : public testing::Test {};
TYPED_TEST_SUITE(ActivationBackward, StorageTypes);

TYPED_TEST(ActivationBackward, AgreesWithDoubleAtEverySize) {
  for (const Activation activation : kAll) {
    for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 1000, 20000}) {
      auto z = random_values<TypeParam>(count, 1, 3.0f);
      for (int64_t i = 0; i < std::min<int64_t>(count, 800); ++i) {
        z[i] = from_float<TypeParam>(float(i - 400) * 0.05f);  // -20 to 20
      }
      const auto dy = random_values<TypeParam>(count, 2);
      std::vector<double> dz(count), y(count);
      ThreadPool pool(2);
      activation_backward(activation, widened(dy).data(), widened(z).data(), count, dz.data(),
                          y.data(), pool);
      for_each_isa([&] {
        SCOPED_TRACE(std::to_string(int(activation)) + " of " + std::to_string(count));
        std::vector<TypeParam> got = dy, value = z;  // both in place
        activation_backward(activation, got.data(), value.data(), count, got.data(), value.data(),
                            pool);
        expect_close(got, dz, 3e-6);
        expect_close(value, y, 3e-6);
        std::vector<TypeParam> without(count);
        activation_backward<TypeParam>(activation, dy.data(), z.data(), count, without.data(),
                                       nullptr, pool);
        EXPECT_TRUE(same_bits(without.data(), got.data(), count));
      });
    }
  }
}

TEST(ActivationBackwardEdges, InfinityHasAFiniteSlopeAndNanStays) {
  ThreadPool pool(1);
  for (const Activation activation : kAll) {
    for_each_isa([&] {
      const std::vector<float> z = {INFINITY, -INFINITY, 1e30f, -1e30f, NAN}, dy(5, 1.0f);
      std::vector<float> dz(5);
      activation_backward<float>(activation, dy.data(), z.data(), 5, dz.data(), nullptr, pool);
      const bool flat = activation == Activation::tanh;
      const bool linear = activation == Activation::none;
      for (const int i : {0, 2}) EXPECT_EQ(dz[i], flat ? 0.0f : 1.0f) << int(activation);
      for (const int i : {1, 3}) EXPECT_NEAR(dz[i], linear ? 1.0f : 0.0f, 1e-30) << int(activation);
      if (!linear && activation != Activation::relu) {
        EXPECT_TRUE(std::isnan(dz[4])) << int(activation);
      }
    });
  }
}

}  // namespace
}  // namespace hone::kernels
