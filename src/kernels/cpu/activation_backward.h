#pragma once

#include "kernels/cpu/activation.h"

namespace hone::kernels {

/// dz[i] = dy[i] * activation'(z[i]) for i < count, from what went into the activation; relu' is 0
/// at 0. Where y is not null, y[i] = activation(z[i]) comes with it. dz may be dy; y may be z; they
/// may not overlap otherwise. T is float, bf16 or double.
template <typename T>
void activation_backward(Activation activation, const T* dy, const T* z, int64_t count, T* dz, T* y,
                         ThreadPool& pool);

}  // namespace hone::kernels
