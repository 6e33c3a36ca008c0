#pragma once

#include <numeric>

#include "kernels/cpu/dropout.h"
#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {

template <typename T>
std::vector<double> widened(const std::vector<T>& values) {
  std::vector<double> wide(values.size());
  for (size_t i = 0; i < values.size(); ++i) wide[i] = to_float(values[i]);
  return wide;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline std::vector<double> random_doubles(int64_t count, uint32_t seed, float scale = 1.0f) {
  return widened(random_values<float>(count, seed, scale));
}

/// `gradient` is what finite differences of loss() give, which reads x: of every element, or of
/// some forty where x is long.
template <typename Loss>
void expect_gradient(std::vector<double>& x, const std::vector<double>& gradient, const Loss& loss,
                     double tolerance = 1e-7) {
  ASSERT_EQ(x.size(), gradient.size());
  const size_t step = x.size() <= 200 ? 1 : x.size() / 40;
  for (size_t i = 0; i < x.size(); i += step) {
    constexpr double kStep = 1e-5;
    const double before = x[i];
    x[i] = before + kStep;
    const double above = loss();
    x[i] = before - kStep;
    const double below = loss();
    x[i] = before;
    const double expected = (above - below) / (2 * kStep);
    ASSERT_NEAR(gradient[i], expected, tolerance * (1 + std::abs(expected))) << "at " << i;
  }
}

/// Dropout whose rows are scattered over samples and places, some of them large.
struct DropoutRows {
  DropoutRows(float p, int64_t rows, uint64_t seed = 7) : samples(rows), positions(rows) {
    for (int64_t i = 0; i < rows; ++i) {
      samples[i] = i * 7919 % 31 + (i % 3 == 0 ? int64_t{1} << 33 : 0);
      positions[i] = static_cast<int32_t>(i * 13 % 509);
    }
    dropout = {p, dropout_key(seed, 12, 3), samples.data(), positions.data()};
  }
  DropoutRows(const DropoutRows&) = delete;
  DropoutRows& operator=(const DropoutRows&) = delete;

  std::vector<int64_t> samples;
  std::vector<int32_t> positions;
  Dropout dropout;
};

/// Compares as expect_close() does, relative to what the sum is made of: its largest element.
template <typename T>
void expect_gradients_close(const std::vector<T>& actual, const std::vector<double>& expected,
                            double fp32) {
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  expect_close(actual, expected, fp32 * largest);
}

}  // namespace hone::kernels
