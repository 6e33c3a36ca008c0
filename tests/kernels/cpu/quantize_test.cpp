#include "kernels/cpu/quantize.h"

#include <algorithm>
#include <limits>

#include "device/memory.h"
#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {
namespace {

constexpr int64_t kWidths[] = {1, 7, 8, 15, 16, 17, 31, 33, 384, 767, 768};

template <typename T>
struct Quantized {
  std::vector<uint8_t> q;  // [rows, width]
  std::vector<RowScale> scales;

  Quantized(const std::vector<T>& x, int64_t rows, int64_t width, ThreadPool& pool) {
    Buffer memory(rows * quantized_stride(width));
    const QuantizedRows out{memory.as<uint8_t>(), width};
    quantize_rows(x.data(), rows, out, pool);
    for (int64_t i = 0; i < rows; ++i) {
      q.insert(q.end(), out.row(i), out.row(i) + width);
      scales.push_back(out.scale(i));
    }
  }
};

template <typename T>
class QuantizeRows : public testing::Test {};
TYPED_TEST_SUITE(QuantizeRows, StorageTypes);

TYPED_TEST(QuantizeRows, IsWithinHalfAStep) {
  for_each_isa([] {
    ThreadPool pool(2);
    for (const int64_t rows : {0, 1, 3, 40}) {
      for (const int64_t width : kWidths) {
        auto x = random_values<TypeParam>(rows * width, 1);
        if (rows > 1) std::fill_n(x.begin(), width, from_float<TypeParam>(2.5f));
        if (rows > 2) {
          for (int64_t i = width; i < 2 * width; ++i) {
            x[i] = from_float<TypeParam>(-std::abs(to_float(x[i])));
          }
        }
        const Quantized<TypeParam> got(x, rows, width, pool);
        for (int64_t i = 0; i < rows * width; ++i) {
          const RowScale& row = got.scales[i / width];
          ASSERT_TRUE(row.zero >= 0 && row.zero <= 255);
          const double back = double{row.scale} * (got.q[i] - row.zero);
          ASSERT_NEAR(back, to_float(x[i]), 0.5001 * row.scale) << "width " << width;
        }
      }
    }
  });
}

TYPED_TEST(QuantizeRows, UsesAllSteps) {
  for_each_isa([] {
    ThreadPool pool(1);
    const auto x = random_values<TypeParam>(768, 2);
    const Quantized<TypeParam> got(x, 1, 768, pool);
    EXPECT_EQ(*std::min_element(got.q.begin(), got.q.end()), 0);
    EXPECT_EQ(*std::max_element(got.q.begin(), got.q.end()), 255);
  });
}

TYPED_TEST(QuantizeRows, KeepsZeroExactly) {
  for_each_isa([] {
    ThreadPool pool(1);
    auto x = random_values<TypeParam>(64, 3);
    x[5] = from_float<TypeParam>(0.0f);
    const Quantized<TypeParam> got(x, 1, 64, pool);
    EXPECT_EQ(got.q[5], got.scales[0].zero);

    const std::vector<TypeParam> zeros(33, from_float<TypeParam>(0.0f));
    const Quantized<TypeParam> none(zeros, 1, 33, pool);
    EXPECT_EQ(none.scales[0].scale, 0.0f);
    for (const uint8_t q : none.q) EXPECT_EQ(q, none.scales[0].zero);
  });
}

TYPED_TEST(QuantizeRows, RowAloneIsTheRowInABatch) {
  for_each_isa([] {
    ThreadPool pool(3), one(1);
    constexpr int64_t rows = 50, width = 391;
    const auto x = random_values<TypeParam>(rows * width, 4);
    const Quantized<TypeParam> together(x, rows, width, pool);
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<TypeParam> row(x.begin() + i * width, x.begin() + (i + 1) * width);
      const Quantized<TypeParam> alone(row, 1, width, one);
      ASSERT_TRUE(same_bits(alone.q.data(), together.q.data() + i * width, width));
      ASSERT_TRUE(same_bits(alone.scales.data(), together.scales.data() + i, 1));
    }
  });
}

TEST(QuantizeRowsBad, WhatIsNotFiniteShowsInTheScale) {
  for_each_isa([] {
    ThreadPool pool(1);
    std::vector<float> x(40, 1.0f);
    x[20] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(std::isfinite(Quantized<float>(x, 1, 40, pool).scales[0].scale));
  });
}

TEST(QuantizeSymmetric, IsWithinHalfAStep) {
  for_each_isa([] {
    for (const int64_t width : kWidths) {
      const auto x = random_values<float>(width, 5, 0.02f);
      std::vector<int8_t> q(width);
      const float scale = quantize_symmetric(x.data(), width, q.data());
      int most = 0;
      for (int64_t i = 0; i < width; ++i) {
        ASSERT_NEAR(scale * q[i], x[i], 0.5001 * scale) << "width " << width;
        most = std::max(most, std::abs(q[i]));
      }
      EXPECT_EQ(most, 127);
      std::vector<float> back(width);
      for (int64_t i = 0; i < width; ++i) back[i] = scale * q[i];
      std::vector<int8_t> again(width);
      ASSERT_EQ(quantize_symmetric(back.data(), width, again.data()), scale);
      ASSERT_EQ(again, q);
    }
  });
}

TEST(QuantizeSymmetric, RowOfZeros) {
  const std::vector<float> x(20, 0.0f);
  std::vector<int8_t> q(20, 99);
  EXPECT_EQ(quantize_symmetric(x.data(), 20, q.data()), 0.0f);
  EXPECT_EQ(q, std::vector<int8_t>(20, 0));
}

}  // namespace
}  // namespace hone::kernels
