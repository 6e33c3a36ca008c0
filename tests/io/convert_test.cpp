#include "io/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace hone::io {
namespace {

TEST(Convert, EveryHalf) {
  std::vector<uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  std::vector<float> values(halves.size());
  to_fp32(DType::f16, halves.data(), std::ssize(halves), values.data());
  for (size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(half_to_float(halves[i])))
        << std::hex << i;
  }
  std::vector<uint16_t> back(halves.size());
  from_fp32(values.data(), std::ssize(values), DType::f16, back.data());
  for (size_t i = 0; i < halves.size(); ++i) {
    if (!std::isnan(values[i])) {
      ASSERT_EQ(back[i], halves[i]) << std::hex << i;
    }
  }
}

TEST(Convert, EveryBfloat) {
  std::vector<uint16_t> bits(65536);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  std::vector<float> values(bits.size());
  to_fp32(DType::bf16, bits.data(), std::ssize(bits), values.data());
  std::vector<uint16_t> back(bits.size());
  from_fp32(values.data(), std::ssize(values), DType::bf16, back.data());
  for (size_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), static_cast<uint32_t>(i) << 16);
    if (!std::isnan(values[i])) {
      ASSERT_EQ(back[i], bits[i]);
    }
  }
}

TEST(Convert, RoundsToNearestEven) {
  // Halfway between neighbours, and just past it.
  const std::vector<float> in = {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 1 + 0x1.002p-11f, 65519.0f,
                                 65520.0f};
  std::vector<uint16_t> half(in.size());
  from_fp32(in.data(), std::ssize(in), DType::f16, half.data());
  EXPECT_EQ(half, (std::vector<uint16_t>{0x3c00, 0x3c02, 0x3c01, 0x7bff, 0x7c00}));
  const std::vector<float> wide = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1.002p-8f};
  std::vector<uint16_t> bfloat(wide.size());
  from_fp32(wide.data(), std::ssize(wide), DType::bf16, bfloat.data());
  EXPECT_EQ(bfloat, (std::vector<uint16_t>{0x3f80, 0x3f82, 0x3f81}));
}

TEST(Convert, IntegersAreNotWrittenFromFloats) {
  const float value = 1;
  int64_t out = 0;
  EXPECT_THROW(from_fp32(&value, 1, DType::i64, &out), Error);
}

}  // namespace
}  // namespace hone::io
