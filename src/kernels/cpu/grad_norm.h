#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"

namespace hone::kernels {

/// Bytes of scratch of sum_of_squares(), aligned as 64 bytes.
size_t sum_of_squares_workspace(int64_t count);

/// Gives the sum of x[i]^2 in double, by chunks in a fixed order: no bit depends on the threads.
/// The sum is not finite exactly where some x[i] is not.
double sum_of_squares(const float* x, int64_t count, void* workspace, ThreadPool& pool);

/// Gives PyTorch's clip_grad_norm_ coefficient, by which gradients of this norm are multiplied so
/// that it is at most `max_norm` (0: no clipping).
double clip_coefficient(double norm, double max_norm);

}  // namespace hone::kernels
