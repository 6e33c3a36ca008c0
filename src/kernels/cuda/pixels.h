#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// y = byte * levels[c] + levels[channels + c]: bytes [images * image_pixels, channels] become
/// numbers in `dtype`, by the factors and terms of their image, fp32 [images, 2 * channels].
Status pixels(DType dtype, const uint8_t* bytes, const float* levels, int64_t rows,
              int64_t channels, int64_t image_pixels, void* y, Stream stream);

}  // namespace hone::kernels::cuda
