#pragma once

#include "autograd/tape.h"

namespace hone::ops {

/// y = pixel * levels[c] + levels[channels + c]: bytes [images * image_pixels, channels] become
/// numbers in `out`, by the factors and terms of their image, fp32 [images, 2 * channels]. Nothing
/// leads back to pixels.
Value pixels(Tape& tape, Value bytes, Value levels, int64_t image_pixels, DType out);

}  // namespace hone::ops
