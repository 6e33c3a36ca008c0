#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hone {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean, f8 };

/// Gives bytes an element. f8 is e4m3: 4 bits of exponent, 3 of mantissa, up to 448.
size_t dtype_size(DType dtype);
/// Gives the field's short name: "fp32", "bf16", ...
std::string_view dtype_name(DType dtype);
bool is_floating(DType dtype);

/// Storage of a bfloat16; arithmetic is done in fp32.
struct bf16 {
  uint16_t bits;
};

inline float to_float(bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

/// Rounds to nearest even; NaN stays NaN.
inline bf16 to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// Converts from IEEE half precision, given by its bits.
float half_to_float(uint16_t half);
uint16_t float_to_half(float value);
/// Converts from e4m3, given by its bits.
float fp8_to_float(uint8_t bits);

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};

}  // namespace hone
