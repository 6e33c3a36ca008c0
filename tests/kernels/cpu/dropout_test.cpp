#include "kernels/cpu/dropout.h"

#include <set>

#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

template <typename T>
class DropoutOf : public testing::Test {};
using Types = testing::Types<float, bf16, double>;
TYPED_TEST_SUITE(DropoutOf, Types);

template <typename T>
T times(T value, float factor) {
  if constexpr (std::is_same_v<T, bf16>) {
    return to_bf16(to_float(value) * factor);
  } else {
    return value * static_cast<T>(factor);
  }
}

TYPED_TEST(DropoutOf, VectorsDrawTheWordsOfPhilox) {
  for (const float p : {0.1f, 0.5f, 0.9f, 0x1p-24f, 1.0f - 0x1p-24f}) {
    for (const int64_t width : {1, 3, 15, 16, 17, 31, 32, 33, 100, 768}) {
      const int64_t rows = 37;
      const DropoutRows with(p, rows);
      std::vector<TypeParam> x(rows * width);
      for (int64_t i = 0; i < rows * width; ++i) x[i] = from_float<TypeParam>(float(i % 251) - 125);
      std::vector<TypeParam> expected(x.size());
      for (int64_t i = 0; i < rows * width; ++i) {
        expected[i] = times(x[i], dropout_factor(with.dropout, i / width, uint32_t(i % width)));
        if (dropout_factor(with.dropout, i / width, uint32_t(i % width)) == 0) expected[i] = {};
      }
      for_each_isa([&] {
        for (const int threads : {1, 2, 3}) {
          ThreadPool pool(threads);
          std::vector<TypeParam> y = x;  // in place
          apply_dropout(with.dropout, y.data(), rows, width, y.data(), pool);
          for (size_t i = 0; i < y.size(); ++i) {
            ASSERT_EQ(to_float(y[i]), to_float(expected[i])) << p << " width " << width << " " << i;
          }
        }
      });
    }
  }
}

TEST(Dropout, KeepsItsShareAndDependsOnEveryPartOfTheKey) {
  const int64_t rows = 64, width = 1024;
  const DropoutRows with(0.1f, rows);
  ThreadPool pool(1);
  const auto kept = [&](const Dropout& dropout) {
    std::vector<float> y(rows * width, 1.0f);
    apply_dropout(dropout, y.data(), rows, width, y.data(), pool);
    return y;
  };
  const std::vector<float> y = kept(with.dropout);
  const double share = double(std::count(y.begin(), y.end(), 0.0f)) / double(y.size());
  EXPECT_NEAR(share, 0.1, 5 * std::sqrt(0.09 / double(y.size())));
  EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0) / double(y.size()), 1.0, 0.01);
  for (int64_t i = 1; i < rows; ++i) {
    EXPECT_FALSE(same_bits(y.data(), y.data() + i * width, width)) << "row " << i;
  }
  std::set<uint64_t> keys;
  for (const uint64_t seed : {0, 1}) {
    for (const uint64_t step : {0, 1}) {
      for (const uint64_t site : {0, 1}) keys.insert(dropout_key(seed, step, site));
    }
  }
  EXPECT_EQ(keys.size(), 8u);
  Dropout other = with.dropout;
  other.key = dropout_key(7, 13, 3);
  EXPECT_NE(kept(other), y);
}

TEST(Dropout, ARowIsTheSameWhereverItIsPacked) {
  const int64_t rows = 9, width = 40;
  const DropoutRows with(0.3f, rows);
  const std::vector<float> x = random_values<float>(rows * width, 1);
  ThreadPool pool(1);
  std::vector<float> y(x.size()), row(width);
  apply_dropout(with.dropout, x.data(), rows, width, y.data(), pool);
  Dropout alone = with.dropout;
  alone.samples += 5;
  alone.positions += 5;
  apply_dropout(alone, x.data() + 5 * width, 1, width, row.data(), pool);
  EXPECT_TRUE(same_bits(row.data(), y.data() + 5 * width, width));
}

TEST(Dropout, NoneAndEmpty) {
  const std::vector<float> x = {1.0f, NAN, -0.0f};
  std::vector<float> y(3);
  ThreadPool pool(1);
  apply_dropout(Dropout{}, x.data(), 1, 3, y.data(), pool);
  EXPECT_TRUE(same_bits(y.data(), x.data(), 3));
  apply_dropout<float>(Dropout{.p = 0.5f}, nullptr, 0, 3, nullptr, pool);
}

}  // namespace
}  // namespace hone::kernels
