#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace hone::kernels {

enum class Activation : uint8_t {
  none,
  gelu,       ///< x Phi(x), by erf
  gelu_tanh,  ///< the tanh form, "gelu_new"
  relu,
  silu,
  tanh,
};

/// y[i] = activation(x[i]) for i < count. y may be x; it may not overlap it otherwise. T is float,
/// bf16 or double.
template <typename T>
void activate(Activation activation, const T* x, int64_t count, T* y, ThreadPool& pool);

}  // namespace hone::kernels
