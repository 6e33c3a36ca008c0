#pragma once

#include <vector>

#include "tensor/dtype.h"

/// Numbers in memory by their dtype.
namespace hone::emulated {

inline float load(DType dtype, const void* data, int64_t at) {
  if (dtype == DType::f32) return static_cast<const float*>(data)[at];
  const uint16_t bits = static_cast<const uint16_t*>(data)[at];
  return dtype == DType::bf16 ? to_float(bf16{bits}) : half_to_float(bits);
}

inline void store(DType dtype, void* data, int64_t at, double value) {
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::f32) {
    static_cast<float*>(data)[at] = narrow;
  } else {
    static_cast<uint16_t*>(data)[at] =
        dtype == DType::bf16 ? to_bf16(narrow).bits : float_to_half(narrow);
  }
}

inline std::vector<float> load_all(DType dtype, const void* data, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = load(dtype, data, i);
  return values;
}

}  // namespace hone::emulated
