#pragma once

#include "base/thread_pool.h"
#include "kernels/cpu/window.h"

/// Pooling over images [height, width, channels], forward and backward; T is float, bf16 or double.
/// An image's bits depend on that image alone.
namespace hone::kernels {

/// The largest window whose places fit the bytes of max_pool().
inline constexpr int64_t kMostPooled = 15;

/// y = the largest of what the window covers, without the zeros around; NaN wins. `places` says
/// which of the window's pixels it was, the first where there are several; may be null.
template <typename T>
void max_pool(const Window& window, int64_t images, const T* x, T* y, uint8_t* places,
              ThreadPool& pool);
/// Sets (=) dx; each pixel takes the gradients of the windows whose largest it was.
template <typename T>
void max_pool_backward(const Window& window, int64_t images, const T* dy, const uint8_t* places,
                       T* dx, ThreadPool& pool);

/// y = the mean of what the window covers, the zeros around included.
template <typename T>
void average_pool(const Window& window, int64_t images, const T* x, T* y, ThreadPool& pool);
/// Sets (=) dx.
template <typename T>
void average_pool_backward(const Window& window, int64_t images, const T* dy, T* dx,
                           ThreadPool& pool);

/// y [images, channels] = the mean over each image's pixels.
template <typename T>
void global_average(int64_t images, int64_t pixels, int64_t channels, const T* x, T* y,
                    ThreadPool& pool);
/// Sets (=) dx.
template <typename T>
void global_average_backward(int64_t images, int64_t pixels, int64_t channels, const T* dy, T* dx,
                             ThreadPool& pool);

}  // namespace hone::kernels
