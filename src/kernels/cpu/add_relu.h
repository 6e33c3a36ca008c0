#pragma once

#include <cstdint>

#include "base/thread_pool.h"

/// T is float, bf16 or double.
namespace hone::kernels {

/// y = max(a + b, 0), elementwise; b may be null. NaN stays NaN.
template <typename T>
void add_relu(const T* a, const T* b, int64_t count, T* y, ThreadPool& pool);

/// dx = dy where y is above 0, else 0; dx may be dy.
template <typename T>
void relu_backward(const T* dy, const T* y, int64_t count, T* dx, ThreadPool& pool);

}  // namespace hone::kernels
