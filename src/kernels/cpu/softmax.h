#pragma once

#include <cstdint>

namespace hone::kernels {

/// Each row of [rows, width] to its softmax, the largest logit taken off first. y may be x.
/// For the logits of a classifier: small, so it runs in the caller's thread.
void softmax_rows(const float* x, int64_t rows, int64_t width, float* y);

/// y[i] = 1 / (1 + e^-x[i]). y may be x. In the caller's thread.
void sigmoid(const float* x, int64_t count, float* y);

}  // namespace hone::kernels
