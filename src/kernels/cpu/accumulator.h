#pragma once

#include <type_traits>

#include "tensor/dtype.h"

namespace hone::kernels {

/// The type in which values stored as T are computed, and that of the parameters, statistics and
/// parameter gradients beside them: fp32, or double for double, which gradient checks use.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

inline float to_accumulator(float x) { return x; }
inline double to_accumulator(double x) { return x; }
inline float to_accumulator(bf16 x) { return to_float(x); }
inline void store_rounded(float x, float& out) { out = x; }
inline void store_rounded(double x, double& out) { out = x; }
inline void store_rounded(float x, bf16& out) { out = to_bf16(x); }

}  // namespace hone::kernels
