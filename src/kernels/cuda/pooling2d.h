#pragma once

#include "kernels/cpu/window.h"
#include "kernels/cuda/launch.h"

/// Pooling over images, as kernels/cpu/pooling2d.h describes it: x [images * in_pixels, channels],
/// y [images * out_pixels, channels].
namespace hone::kernels::cuda {

struct Pool {
  DType dtype = DType::f32;
  Window window;
  int64_t images = 0;
};

/// Computes y and, where it is not null, `places`: a byte an output.
Status max_pool(const Pool& pool, const void* x, void* y, uint8_t* places, Stream stream);
Status max_pool_backward(const Pool& pool, const void* dy, const uint8_t* places, void* dx,
                         Stream stream);
Status average_pool(const Pool& pool, const void* x, void* y, Stream stream);
Status average_pool_backward(const Pool& pool, const void* dy, void* dx, Stream stream);

/// y [images, channels] = the mean over each image's pixels of x [images * pixels, channels].
Status global_average(DType dtype, int64_t images, int64_t pixels, int64_t channels, const void* x,
                      void* y, Stream stream);
Status global_average_backward(DType dtype, int64_t images, int64_t pixels, int64_t channels,
                               const void* dy, void* dx, Stream stream);

}  // namespace hone::kernels::cuda
