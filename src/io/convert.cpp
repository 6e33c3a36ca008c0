#include "io/convert.h"

#include <cstring>

#include "base/error.h"

namespace hone::io {
namespace {

/// half_to_float by masks, signed comparisons and no branches, so that the loop over it becomes
/// vector code on any target.
inline float half_bits_to_float(uint16_t half) {
  constexpr int32_t kRebase = (127 - 15) << 23;
  const int32_t magnitude = half & 0x7fff;
  const int32_t infinite = -static_cast<int32_t>(magnitude > 0x7bff);
  const int32_t subnormal = -static_cast<int32_t>(magnitude < 0x400);
  const int32_t normal = (magnitude << 13) + kRebase + (infinite & kRebase);
  // Subnormals go through the integer converter: it is exact, and unmoved by flush-to-zero modes.
  const int32_t tiny = std::bit_cast<int32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  const int32_t bits = (subnormal & tiny) | (~subnormal & normal);
  const uint32_t sign = (half & 0x8000u) << 16;
  return std::bit_cast<float>(static_cast<uint32_t>(bits) | sign);
}

template <typename T, typename F>
void convert(const void* in, int64_t count, float* out, F&& to) {
  const T* from = static_cast<const T*>(in);
  for (int64_t i = 0; i < count; ++i) out[i] = to(from[i]);
}

template <typename T>
float cast(T value) {
  return static_cast<float>(value);
}

#ifdef __x86_64__
/// Runs the same loop in vectors twice as wide. The F16C instruction is not used: it changes
/// signalling NaNs and would make a tensor's bits depend on how it is cut into reads.
__attribute__((target("avx2"))) void convert_halves_avx2(const uint16_t* in, int64_t count,
                                                         float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = half_bits_to_float(in[i]);
}
#endif

void convert_halves(const void* in, int64_t count, float* out) {
#ifdef __x86_64__
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2) return convert_halves_avx2(static_cast<const uint16_t*>(in), count, out);
#endif
  convert<uint16_t>(in, count, out, half_bits_to_float);
}

}  // namespace

void to_fp32(DType dtype, const void* in, int64_t count, float* out) {
  switch (dtype) {
    case DType::f32:
      if (count > 0) std::memcpy(out, in, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::f16:
      return convert_halves(in, count, out);
    case DType::bf16:
      return convert<uint16_t>(in, count, out, [](uint16_t v) { return to_float(bf16{v}); });
    case DType::f64:
      return convert<double>(in, count, out, cast<double>);
    case DType::i64:
      return convert<int64_t>(in, count, out, cast<int64_t>);
    case DType::i32:
      return convert<int32_t>(in, count, out, cast<int32_t>);
    case DType::i16:
      return convert<int16_t>(in, count, out, cast<int16_t>);
    case DType::i8:
      return convert<int8_t>(in, count, out, cast<int8_t>);
    case DType::u8:
      return convert<uint8_t>(in, count, out, cast<uint8_t>);
    case DType::boolean:
      return convert<uint8_t>(in, count, out, [](uint8_t v) { return v != 0 ? 1.0f : 0.0f; });
    case DType::f8:
      return convert<uint8_t>(in, count, out, fp8_to_float);
  }
}

void from_fp32(const float* in, int64_t count, DType dtype, void* out) {
  switch (dtype) {
    case DType::f32:
      if (count > 0) std::memcpy(out, in, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::f16:
      for (int64_t i = 0; i < count; ++i) static_cast<uint16_t*>(out)[i] = float_to_half(in[i]);
      return;
    case DType::bf16:
      for (int64_t i = 0; i < count; ++i) static_cast<uint16_t*>(out)[i] = to_bf16(in[i]).bits;
      return;
    case DType::f64:
      for (int64_t i = 0; i < count; ++i) static_cast<double*>(out)[i] = in[i];
      return;
    default:
      fail(ErrorKind::internal, "fp32 is not written as {}", dtype_name(dtype));
  }
}

}  // namespace hone::io
