#include "api/images.h"

#include <limits>

#include "base/error.h"
#include "data/image_processor.h"

namespace hone {

std::string api::sample_of(const Image& image, const image::DecodeLimits& limits) {
  constexpr int64_t kLongestSide = std::numeric_limits<uint32_t>::max();
  if (!image.file.empty()) return image.file;
  const auto [width, height] = std::pair(image.width, image.height);
  if (width < 1 || height < 1 || width > kLongestSide || height > kLongestSide) {
    fail(ErrorKind::usage, "images: expected a file, or a width and a height, got {} x {}", width,
         height);
  }
  if (width > limits.max_pixels / height) {
    fail(ErrorKind::usage, "images: {} x {} pixels are more than {}", width, height,
         limits.max_pixels);
  }
  image::Image pixels;
  pixels.width = width;
  pixels.height = height;
  pixels.pixels = image.pixels;
  const int64_t bytes = width * height * image::kChannels;
  if (std::ssize(image.pixels) != bytes) {
    fail(ErrorKind::usage, "images: {} x {} pixels are {} bytes, got {}", width, height, bytes,
         image.pixels.size());
  }
  return data::raw_image(pixels);
}

}  // namespace hone
