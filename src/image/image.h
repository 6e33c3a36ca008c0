#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone::image {

inline constexpr int64_t kChannels = 3;

/// An image in memory: rows from the top, pixels from the left, three bytes (red, green, blue)
/// each.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;

  Image() = default;
  Image(int64_t width_in, int64_t height_in)
      : width(width_in),
        height(height_in),
        pixels(static_cast<size_t>(width_in * height_in * kChannels)) {}

  uint8_t* row(int64_t y) { return pixels.data() + y * width * kChannels; }
  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * kChannels; }
};

}  // namespace hone::image
