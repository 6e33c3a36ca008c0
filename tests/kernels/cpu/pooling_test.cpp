#include "kernels/cpu/pooling.h"

#include "kernels/cpu/kernel_test.h"
#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

double merged(Pooling pooling, const std::vector<double>& column) {
  if (column.empty()) return 0;
  if (pooling == Pooling::first) return column[0];
  if (pooling == Pooling::max) return *std::max_element(column.begin(), column.end());
  double sum = 0;
  for (const double value : column) sum += value;
  return sum / double(column.size());
}

template <typename T>
class PoolingOf : public testing::Test {};
TYPED_TEST_SUITE(PoolingOf, StorageTypes);

TYPED_TEST(PoolingOf, EverySequenceWidthAndThreadCount) {
  const std::vector<int32_t> offsets = {0, 1, 1, 8, 136, 138};
  const int64_t sequences = 5;
  for (const int64_t width : {1, 7, 16, 17, 384, 768}) {
    const auto x = random_values<TypeParam>(offsets.back() * width, 1);
    for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::max}) {
      std::vector<double> expected(sequences * width);
      for (int64_t s = 0; s < sequences; ++s) {
        for (int64_t i = 0; i < width; ++i) {
          std::vector<double> column;
          for (int32_t r = offsets[s]; r < offsets[s + 1]; ++r) {
            column.push_back(to_float(x[r * width + i]));
          }
          expected[s * width + i] = merged(pooling, column);
        }
      }
      for_each_isa([&] {
        ThreadPool one(1), three(3);
        std::vector<float> y(sequences * width), again(y), alone(width);
        pool_sequences(pooling, x.data(), offsets.data(), sequences, width, y.data(), one);
        expect_close(y, expected, 1e-6);
        pool_sequences(pooling, x.data(), offsets.data(), sequences, width, again.data(), three);
        EXPECT_TRUE(same_bits(again.data(), y.data(), sequences * width));
        const int32_t own[] = {0, 128};
        pool_sequences(pooling, x.data() + 8 * width, own, 1, width, alone.data(), one);
        EXPECT_TRUE(same_bits(alone.data(), y.data() + 3 * width, width));
      });
    }
  }
}

TEST(Pooling, NanStaysInEveryPooling) {
  const std::vector<int32_t> offsets = {0, 3};
  for_each_isa([&] {
    ThreadPool pool(1);
    for (size_t row = 0; row < 3; ++row) {
      std::vector<float> x = {1.0f, 2.0f, 3.0f};
      x[row] = NAN;
      for (const Pooling pooling : {Pooling::mean, Pooling::max}) {
        float y = 0;
        pool_sequences(pooling, x.data(), offsets.data(), 1, 1, &y, pool);
        EXPECT_TRUE(std::isnan(y));
      }
    }
  });
}

TEST(L2Normalize, RowsAndTheSmallestNorm) {
  for (const int64_t width : {1, 7, 16, 17, 384, 767}) {
    std::vector<float> x = random_values<float>(4 * width, 1);
    std::fill_n(x.begin() + width, width, 0.0f);
    std::fill_n(x.begin() + 2 * width, width, 1e-16f);
    std::vector<double> expected(x.begin(), x.end());
    for (int64_t r = 0; r < 4; ++r) {
      double squares = 0;
      for (int64_t i = 0; i < width; ++i) squares += std::pow(expected[r * width + i], 2);
      for (int64_t i = 0; i < width; ++i) {
        expected[r * width + i] /= std::max(std::sqrt(squares), 1e-12);
      }
    }
    for_each_isa([&] {
      ThreadPool pool(2);
      std::vector<float> y = x;
      l2_normalize(y.data(), 4, width, y.data(), pool);
      expect_close(y, expected, 3e-7);
    });
  }
}

TEST(GatherRows, StridedRepeatedAndNone) {
  const std::vector<float> x = random_values<float>(10 * 20, 1);
  const std::vector<int32_t> index = {9, 0, 0, 4};
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (const int64_t width : {1, 7, 20}) {
      std::vector<float> y(index.size() * width);
      gather_rows(x.data(), 80, index.data(), 4, width * 4, y.data(), pool);
      for (size_t i = 0; i < index.size(); ++i) {
        EXPECT_TRUE(same_bits(y.data() + i * width, x.data() + index[i] * 20, width));
      }
    }
    gather_rows(x.data(), 80, nullptr, 0, 80, nullptr, pool);
  }
}

}  // namespace
}  // namespace hone::kernels
