#include "kernels/cpu/inner_products.h"

#include <cmath>

#include "device/memory.h"
#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {
namespace {

template <typename T>
double value_of(T x) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<double>(x) - 128;
  } else {
    return double{to_float(x)};
  }
}

template <typename T>
Buffer random_rows(int64_t count, uint64_t seed) {
  Buffer out(static_cast<size_t>(count) * sizeof(T));
  const auto values = random_values<float>(count, seed);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      out.as<T>()[i] = static_cast<uint8_t>(128 + std::lround(values[i] * 40) % 127);
    } else if constexpr (std::is_same_v<T, bf16>) {
      out.as<T>()[i] = to_bf16(values[i]);
    } else {
      out.as<T>()[i] = values[i];
    }
  }
  return out;
}

template <typename T>
class InnerProductsOf : public testing::Test {};
using RowTypes = testing::Types<float, bf16, uint8_t>;
TYPED_TEST_SUITE(InnerProductsOf, RowTypes);

TYPED_TEST(InnerProductsOf, EveryShapeAndAloneAsBesideOthers) {
  for (const int64_t width : {64, 128, 384, 448}) {
    const int64_t most_rows = 37, most_queries = 9;
    const Buffer queries = random_rows<float>(most_queries * width, 1);
    const Buffer rows = random_rows<TypeParam>(most_rows * width, 2);
    for_each_isa([&] {
      std::vector<float> all(most_queries * most_rows);
      inner_products(queries.as<float>(), most_queries, rows.as<TypeParam>(), most_rows, width,
                     all.data(), most_rows);
      for (int64_t q = 0; q < most_queries; ++q) {
        for (int64_t r = 0; r < most_rows; ++r) {
          double wanted = 0, size = 0;
          for (int64_t i = 0; i < width; ++i) {
            const double product = double{queries.as<float>()[q * width + i]} *
                                   value_of(rows.as<TypeParam>()[r * width + i]);
            wanted += product;
            size += std::abs(product);
          }
          ASSERT_NEAR(all[q * most_rows + r], wanted, size * 1e-6) << q << ' ' << r;
          float alone = 0;
          inner_products(queries.as<float>() + q * width, 1, rows.as<TypeParam>() + r * width, 1,
                         width, &alone, 1);
          ASSERT_TRUE(same_bits(&alone, &all[q * most_rows + r], 1)) << q << ' ' << r;
        }
      }
      for (const int64_t count : {0, 1, 3, 4, 5, 16, 17}) {
        std::vector<float> some(static_cast<size_t>(count) + 1, 7.0f);
        inner_products(queries.as<float>(), 1, rows.as<TypeParam>(), count, width, some.data(),
                       count);
        EXPECT_TRUE(same_bits(some.data(), all.data(), count)) << count;
        EXPECT_EQ(some.back(), 7.0f) << "written behind the last";
      }
    });
  }
}

TEST(ByteProducts, ExactAtTheExtremes) {
  for (const int64_t width : {64, 384, 65536}) {
    const int64_t count = 6;
    Buffer query(static_cast<size_t>(width)), rows(static_cast<size_t>(count * width));
    for (int64_t i = 0; i < width; ++i) {
      query.as<int8_t>()[i] = static_cast<int8_t>(i % 3 == 0 ? -127 : 127 - i % 251);
    }
    for (int64_t i = 0; i < count * width; ++i) {
      rows.as<uint8_t>()[i] = static_cast<uint8_t>(i < width ? 255 : i * 7919 % 256);
    }
    for_each_isa([&] {
      std::vector<int32_t> out(count + 1, 5);
      byte_products(query.as<int8_t>(), rows.as<uint8_t>(), count, width, out.data());
      for (int64_t r = 0; r < count; ++r) {
        int64_t wanted = 0;
        for (int64_t i = 0; i < width; ++i) {
          wanted += int64_t{query.as<int8_t>()[i]} * rows.as<uint8_t>()[r * width + i];
        }
        EXPECT_EQ(out[r], wanted) << width << ' ' << r;
      }
      EXPECT_EQ(out[count], 5);
    });
  }
}

TEST(IndicesAbove, StrictlyAndNeverNan) {
  std::vector<float> scores(37, 1.0f);
  scores[3] = 2;
  scores[4] = NAN;
  scores[36] = 1.5f;
  for_each_isa([&] {
    std::vector<int32_t> out(37);
    ASSERT_EQ(indices_above(scores.data(), 37, 1.0f, out.data()), 2);
    EXPECT_EQ(out[0], 3);
    EXPECT_EQ(out[1], 36);
    EXPECT_EQ(indices_above(scores.data(), 37, 2.0f, out.data()), 0);
    EXPECT_EQ(indices_above(scores.data(), 3, 0.0f, out.data()), 3);
  });
}

}  // namespace
}  // namespace hone::kernels
