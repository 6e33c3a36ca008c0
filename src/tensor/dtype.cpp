#include "tensor/dtype.h"

#include <array>

namespace hone {
namespace {

struct Row {
  size_t size;
  std::string_view name;
};

constexpr std::array<Row, 11> kRows = {{{8, "fp64"},
                                        {4, "fp32"},
                                        {2, "fp16"},
                                        {2, "bf16"},
                                        {8, "int64"},
                                        {4, "int32"},
                                        {2, "int16"},
                                        {1, "int8"},
                                        {1, "uint8"},
                                        {1, "bool"},
                                        {1, "fp8"}}};

}  // namespace

size_t dtype_size(DType dtype) { return kRows[static_cast<size_t>(dtype)].size; }

std::string_view dtype_name(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

bool is_floating(DType dtype) { return dtype <= DType::bf16 || dtype == DType::f8; }

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: mantissa * 2^-24, exact in fp32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

float fp8_to_float(uint8_t bits) {
  const uint32_t exponent = (bits >> 3) & 0xfu;
  const uint32_t mantissa = bits & 7u;
  const bool nan = (bits & 0x7fu) == 0x7fu;
  const float magnitude = nan ? std::bit_cast<float>(0x7fc00000u)
                          : exponent == 0
                              ? static_cast<float>(mantissa) * 0x1p-9f
                              : std::bit_cast<float>(((exponent + 120) << 23) | (mantissa << 20));
  return (bits & 0x80u) != 0 ? -magnitude : magnitude;
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;            // rounds to 2^16 or beyond
  if (magnitude < 0x38800000u) {                                  // below 2^-14: subnormal half
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;  // fp32 adder rounds to 2^-24
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(scaled) - 0x3f000000u);
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

}  // namespace hone
