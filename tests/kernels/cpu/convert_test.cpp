#include "kernels/cpu/convert.h"

#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};

float read(DType dtype, const char* at) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, dtype_size(dtype));
  if (dtype == DType::bf16) return to_float(bf16{static_cast<uint16_t>(bits)});
  if (dtype == DType::f16) return half_to_float(static_cast<uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

uint32_t written(DType dtype, float value) {
  if (dtype == DType::bf16) return to_bf16(value).bits;
  if (dtype == DType::f16) return float_to_half(value);
  return std::bit_cast<uint32_t>(value);
}

/// Every element equals the scalar conversion's bits; NaN has only to be NaN.
void check(DType from, DType to, const std::vector<char>& x, int64_t count, ThreadPool& pool) {
  const int64_t in_size = int64_t(dtype_size(from)), out_size = int64_t(dtype_size(to));
  std::vector<char> y(count * out_size);
  convert(from, x.data(), to, y.data(), count, pool);
  for (int64_t i = 0; i < count; ++i) {
    const float value = read(from, x.data() + i * in_size);
    const char* at = y.data() + i * out_size;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(read(to, at))) << "at " << i;
      continue;
    }
    uint32_t bits = 0;
    std::memcpy(&bits, at, out_size);
    ASSERT_EQ(bits, written(to, value)) << "of " << value << " at " << i;
  }
}

TEST(Convert, EveryHalfAndBf16) {
  std::vector<char> all(65536 * 2);
  for (uint32_t i = 0; i < 65536; ++i) std::memcpy(all.data() + 2 * i, &i, 2);
  ThreadPool pool(2);
  for_each_isa([&] {
    for (const DType from : {DType::bf16, DType::f16}) {
      for (const DType to : kTypes) check(from, to, all, 65536, pool);
    }
  });
}

TEST(Convert, FloatsOfEveryKindAndTies) {
  std::mt19937 engine(1);
  std::vector<char> x;
  for (int i = 0; i < 100'000; ++i) {
    uint32_t bits = engine();
    if (i % 3 == 0) bits = (bits & 0xffff0000u) | 0x8000u;  // half way between two bf16
    if (i % 3 == 1)
      bits = (bits & 0x8fffe000u) + 0x38000000u + 0x1000u;  // half way between two f16
    x.insert(x.end(), reinterpret_cast<char*>(&bits), reinterpret_cast<char*>(&bits) + 4);
  }
  ThreadPool pool(3);
  for_each_isa([&] {
    for (const DType to : kTypes) check(DType::f32, to, x, 100'000, pool);
  });
}

TEST(Convert, EveryCount) {
  const std::vector<float> values = random_values<float>(64, 2);
  std::vector<char> x(256);
  std::memcpy(x.data(), values.data(), 256);
  ThreadPool pool(1);
  for_each_isa([&] {
    for (const DType from : kTypes) {
      for (const DType to : kTypes) {
        for (int64_t count = 0; count <= 40; ++count) check(from, to, x, count, pool);
      }
    }
  });
}

}  // namespace
}  // namespace hone::kernels
