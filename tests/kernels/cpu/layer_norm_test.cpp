#include "kernels/cpu/layer_norm.h"

#include "device/memory.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/kernel_test.h"
#include "kernels/cpu/quantize.h"

namespace hone::kernels {
namespace {

constexpr int64_t kWidths[] = {1, 7, 8, 15, 16, 17, 31, 33, 128, 384, 767, 768, 1024};
constexpr float kEps = 1e-12f;

struct Norm {
  explicit Norm(int64_t width)
      : weight(random_values<float>(width, 11)), bias(random_values<float>(width, 12)) {}
  NormWeights weights() const { return {weight.data(), bias.data(), kEps}; }
  std::vector<float> weight, bias;
};

/// `row` becomes its LayerNorm; mean and rstd come back.
std::pair<double, double> normalize(double* row, int64_t width, const Norm& norm) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < width; ++i) mean += row[i] / double(width);
  for (int64_t i = 0; i < width; ++i) variance += (row[i] - mean) * (row[i] - mean) / double(width);
  const double rstd = 1 / std::sqrt(variance + kEps);
  for (int64_t i = 0; i < width; ++i) {
    row[i] = (row[i] - mean) * rstd * norm.weight[i] + norm.bias[i];
  }
  return {mean, rstd};
}

template <typename Types>
class LayerNorm : public testing::Test {};
template <typename I, typename R, typename O>
struct Mix {
  using In = I;
  using Residual = R;
  using Out = O;
};
using Mixes =
    testing::Types<Mix<float, float, float>, Mix<float, float, bf16>, Mix<float, bf16, float>,
                   Mix<float, bf16, bf16>, Mix<bf16, float, float>, Mix<bf16, float, bf16>,
                   Mix<bf16, bf16, float>, Mix<bf16, bf16, bf16>>;
TYPED_TEST_SUITE(LayerNorm, Mixes);

TYPED_TEST(LayerNorm, ValuesAndStatistics) {
  using In = typename TypeParam::In;
  using Residual = typename TypeParam::Residual;
  using Out = typename TypeParam::Out;
  for (const int64_t width : kWidths) {
    for (const bool with_residual : {false, true}) {
      const int64_t rows = 5;
      const Norm norm(width);
      const auto x = random_values<In>(rows * width, 1, 3.0f);
      const auto residual = random_values<Residual>(rows * width, 2);
      std::vector<double> expected(rows * width), mean(rows), rstd(rows);
      for (int64_t i = 0; i < rows * width; ++i) {
        // fp32, as the kernel adds: at width 1 the rest of a rounding would be normalised to 1.
        expected[i] = with_residual ? to_float(x[i]) + to_float(residual[i]) : to_float(x[i]);
      }
      for (int64_t r = 0; r < rows; ++r) {
        std::tie(mean[r], rstd[r]) = normalize(expected.data() + r * width, width, norm);
      }
      for_each_isa([&] {
        SCOPED_TRACE(width);
        ThreadPool pool(2);
        std::vector<Out> y(rows * width);
        std::vector<float> got_mean(rows), got_rstd(rows);
        layer_norm(x.data(), with_residual ? residual.data() : nullptr, norm.weights(), rows, width,
                   y.data(), {got_mean.data(), got_rstd.data()}, pool);
        expect_close(y, expected, 1e-5);
        expect_close(got_mean, mean, 1e-6);
        for (int64_t r = 0; r < rows; ++r) ASSERT_NEAR(got_rstd[r], rstd[r], 1e-5 * rstd[r]);
      });
    }
  }
}

template <typename T>
class LayerNormOf : public testing::Test {};
TYPED_TEST_SUITE(LayerNormOf, StorageTypes);

TYPED_TEST(LayerNormOf, RowsAloneThreadsAndInPlaceGiveTheSameBits) {
  for (const int64_t width : {17, 768}) {
    const int64_t rows = 101;
    const Norm norm(width);
    const auto x = random_values<TypeParam>(rows * width, 1);
    const auto residual = random_values<TypeParam>(rows * width, 2);
    for_each_isa([&] {
      ThreadPool one(1);
      std::vector<TypeParam> y(rows * width);
      layer_norm(x.data(), residual.data(), norm.weights(), rows, width, y.data(), {}, one);
      for (const int64_t r : {int64_t{0}, int64_t{57}, rows - 1}) {
        std::vector<TypeParam> row(width);
        layer_norm(x.data() + r * width, residual.data() + r * width, norm.weights(), 1, width,
                   row.data(), {}, one);
        EXPECT_TRUE(same_bits(row.data(), y.data() + r * width, width));
      }
      for (const int threads : {2, 3}) {
        ThreadPool pool(threads);
        std::vector<TypeParam> in_place = residual;
        layer_norm(x.data(), in_place.data(), norm.weights(), rows, width, in_place.data(), {},
                   pool);
        EXPECT_TRUE(same_bits(in_place.data(), y.data(), rows * width));
      }
    });
  }
}

TEST(LayerNormEdges, NoRowsAndLargeMean) {
  const Norm norm(768);
  ThreadPool pool(2);
  for_each_isa([&] {
    layer_norm<float, float, float>(nullptr, nullptr, norm.weights(), 0, 768, nullptr, {}, pool);
    // A mean a thousand times the deviation: one pass over squares would lose it.
    std::vector<float> x = random_values<float>(768, 3);
    for (float& value : x) value += 1000.0f;
    std::vector<double> expected(x.begin(), x.end());
    normalize(expected.data(), 768, norm);
    std::vector<float> y(768);
    layer_norm<float, float, float>(x.data(), nullptr, norm.weights(), 1, 768, y.data(), {}, pool);
    expect_close(y, expected, 1e-3);
  });
}

template <typename T>
class LayerNormQuantized : public testing::Test {};
TYPED_TEST_SUITE(LayerNormQuantized, StorageTypes);

TYPED_TEST(LayerNormQuantized, IsTheNormAndItsBytes) {
  for (const int64_t width : {1, 20, 384, 767, 768}) {
    for (const int64_t rows : {0, 1, 33}) {
      const Norm norm(width);
      const auto x = random_values<float>(rows * width, 1);
      const auto residual = random_values<TypeParam>(rows * width, 2);
      for_each_isa([&] {
        ThreadPool pool(2);
        for (const TypeParam* added : {static_cast<const TypeParam*>(nullptr), residual.data()}) {
          std::vector<TypeParam> y(rows * width), expected(rows * width);
          Buffer bytes(rows * quantized_stride(width)), expected_bytes(bytes.size());
          const QuantizedRows q{bytes.as<uint8_t>(), width};
          const QuantizedRows expected_q{expected_bytes.as<uint8_t>(), width};
          layer_norm_quantized(x.data(), added, norm.weights(), rows, y.data(), q, pool);
          layer_norm(x.data(), added, norm.weights(), rows, width, expected.data(), {}, pool);
          quantize_rows(expected.data(), rows, expected_q, pool);
          ASSERT_TRUE(same_bits(y.data(), expected.data(), rows * width));
          for (int64_t i = 0; i < rows; ++i) {
            ASSERT_TRUE(same_bits(q.row(i), expected_q.row(i), width));
            ASSERT_TRUE(same_bits(&q.scale(i), &expected_q.scale(i), 1));
          }
        }
      });
    }
  }
}

/// A table of bytes and what it stands for.
struct ByteTable {
  std::vector<float> exact;
  std::vector<int8_t> bytes;
  std::vector<float> scales;

  ByteTable(int64_t rows, int64_t width, uint32_t seed)
      : exact(random_values<float>(rows * width, seed)), bytes(rows * width) {
    for (int64_t i = 0; i < rows; ++i) {
      scales.push_back(
          quantize_symmetric(exact.data() + i * width, width, bytes.data() + i * width));
      for (int64_t j = i * width; j < (i + 1) * width; ++j) exact[j] = scales[i] * bytes[j];
    }
  }
  Int8Table table() const { return {bytes.data(), scales.data()}; }
};

TEST(EmbeddingInt8, IsThatOfTheTablesItStandsFor) {
  for (const int64_t width : {1, 20, 128, 384, 768}) {
    const ByteTable words(50, width, 1), types(2, width, 2), positions(16, width, 3);
    const std::vector<int32_t> ids = {3, 49, 0, 3, 17};
    const std::vector<int32_t> type_ids = {0, 0, 1, 1, 0};
    const std::vector<int32_t> position_ids = {2, 3, 15, 0, 1};
    const Norm norm(width);
    for (int tables = 0; tables < 6; ++tables) {  // no types, types of 0, types given; positions
      const bool with_position = tables % 2;
      const int type = tables / 2;
      const EmbeddingIds which{ids.data(), type > 1 ? type_ids.data() : nullptr,
                               with_position ? position_ids.data() : nullptr};
      const EmbeddingTables<float> exact{words.exact.data(),
                                         type > 0 ? types.exact.data() : nullptr,
                                         with_position ? positions.exact.data() : nullptr, width};
      Int8Tables from{words.table(), {}, {}, width};
      if (type > 0) from.type = types.table();
      if (with_position) from.position = positions.table();
      for_each_isa([&] {
        ThreadPool pool(2);
        std::vector<float> wanted(ids.size() * width), y(wanted.size());
        embed_and_normalize(exact, which, 5, norm.weights(), wanted.data(), {}, pool);
        embed_and_normalize(from, which, 5, norm.weights(), y.data(), pool);
        expect_close(y, std::vector<double>(wanted.begin(), wanted.end()), 1e-5);
        std::vector<bf16> narrow(y.size());
        embed_and_normalize(from, which, 5, norm.weights(), narrow.data(), pool);
        for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(narrow[i].bits, to_bf16(y[i]).bits);
      });
    }
  }
}

template <typename T>
class Embedding : public testing::Test {};
TYPED_TEST_SUITE(Embedding, StorageTypes);

TYPED_TEST(Embedding, SumsOfTheTablesThatAreThere) {
  for (const int64_t width : {1, 20, 128, 384, 768}) {
    const auto words = random_values<TypeParam>(50 * width, 1);
    const auto types = random_values<TypeParam>(2 * width, 2);
    const auto positions = random_values<TypeParam>(16 * width, 3);
    const std::vector<int32_t> ids = {3, 49, 0, 3, 17};
    const std::vector<int32_t> type_ids = {0, 0, 1, 1, 0};
    const std::vector<int32_t> position_ids = {2, 3, 15, 0, 1};
    const Norm norm(width);
    for (int tables = 0; tables < 6; ++tables) {  // no types, types of 0, types given; positions
      const bool with_position = tables % 2;
      const int type = tables / 2;
      std::vector<double> expected(ids.size() * width);
      for (size_t t = 0; t < ids.size(); ++t) {
        for (int64_t i = 0; i < width; ++i) {
          float sum = to_float(words[ids[t] * width + i]);
          if (type > 0) sum += to_float(types[(type > 1 ? type_ids[t] : 0) * width + i]);
          if (with_position) sum += to_float(positions[position_ids[t] * width + i]);
          expected[t * width + i] = sum;
        }
        normalize(expected.data() + t * width, width, norm);
      }
      for_each_isa([&] {
        ThreadPool pool(2);
        const EmbeddingTables<TypeParam> from{words.data(), type > 0 ? types.data() : nullptr,
                                              with_position ? positions.data() : nullptr, width};
        const EmbeddingIds which{ids.data(), type > 1 ? type_ids.data() : nullptr,
                                 with_position ? position_ids.data() : nullptr};
        std::vector<float> y(expected.size());
        embed_and_normalize(from, which, 5, norm.weights(), y.data(), {}, pool);
        expect_close(y, expected, 1e-5);
        std::vector<bf16> narrow(expected.size());
        embed_and_normalize(from, which, 5, norm.weights(), narrow.data(), {}, pool);
        for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(narrow[i].bits, to_bf16(y[i]).bits);
      });
    }
  }
}

}  // namespace
}  // namespace hone::kernels
