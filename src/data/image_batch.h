#pragma once

#include <cstdint>
#include <memory>

#include "data/batch.h"

namespace hone::data {

/// The axes of a batch of images: how many there are, and their pixels together. A model's further
/// axes follow from these.
inline constexpr Axis kImages{1};
inline constexpr Axis kPixels{2};

/// The inputs of a batch of images, all of one size.
enum ImageInputs : size_t {
  kPixelInput,  ///< u8, [pixels, channels]: rows from the top, pixels from the left
  /// fp32, [images, 2 * channels]: the model reads pixel * levels[c] + levels[channels + c]
  kLevelInput,
};

std::shared_ptr<const BatchLayout> image_layout(int64_t height, int64_t width, int64_t channels);

}  // namespace hone::data
