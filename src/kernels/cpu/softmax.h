#pragma once

#include <cstdint>

namespace hone::kernels {

/// Turns each row of [rows, width] into its softmax, the largest logit taken off first. y may be x.
/// It is meant for the logits of a classifier, which are few, and runs in the caller's thread.
void softmax_rows(const float* x, int64_t rows, int64_t width, float* y);

/// Computes y[i] = 1 / (1 + e^-x[i]) in the caller's thread. y may be x.
void sigmoid(const float* x, int64_t count, float* y);

}  // namespace hone::kernels
