#pragma once

#include "base/thread_pool.h"
#include "kernels/cpu/window.h"

/// A residual block's shortcut without weights, where the block has more channels than its input or
/// a stride: pixels are left out, and channels of zeros stand on both sides. T is float, bf16 or
/// double.
namespace hone::kernels {

/// y [images, out_height, out_width, out] = every window.stride-th pixel of x, whose channels begin
/// at (out - channels) / 2. The window is of one pixel.
template <typename T>
void padded_shortcut(const Window& window, int64_t images, int64_t out, const T* x, T* y,
                     ThreadPool& pool);
/// Sets (=) dx.
template <typename T>
void padded_shortcut_backward(const Window& window, int64_t images, int64_t out, const T* dy, T* dx,
                              ThreadPool& pool);

}  // namespace hone::kernels
