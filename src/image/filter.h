#pragma once

#include <cstdint>

namespace hone::image {

/// The filters have the numbers that Pillow and preprocessor_config.json give them.
enum class Filter : uint8_t {
  nearest = 0,
  lanczos = 1,
  bilinear = 2,
  bicubic = 3,
  box = 4,
  hamming = 5,
};

}  // namespace hone::image
