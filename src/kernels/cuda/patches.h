#pragma once

#include "kernels/cpu/window.h"
#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// The patches that a window covers of images, as the left side of a product: a row an output
/// pixel, [kernel, kernel, channels], `stride` elements apart.
struct Patches {
  DType dtype = DType::f32;
  Window window;
  int64_t images = 0;
  int64_t stride = 0;  ///< at least window.covered()
};

/// Sets rows [images * out_pixels, stride] to the patches of x [images * in_pixels, channels]; what
/// lies outside of an image is 0, and so is what lies behind a patch in its row.
Status patches(const Patches& shape, const void* x, void* rows, Stream stream);

/// Sets x (=) to `before`, which may be x or null, plus the sum of the places of rows that
/// patches() takes from each pixel, in one order.
Status sum_patches(const Patches& shape, const void* rows, const void* before, void* x,
                   Stream stream);

}  // namespace hone::kernels::cuda
