#pragma once

#include <string>
#include <string_view>

#include "image/decode.h"

/// Each decoder gives the pixels as they lie in the file, and how the image is to be turned.
namespace hone::image {

struct Decoded {
  Image image;
  int orientation = 1;  ///< EXIF's, 1 to 8
};

Decoded decode_jpeg(std::string_view bytes, const std::string& file, const DecodeLimits& limits);
Decoded decode_png(std::string_view bytes, const std::string& file, const DecodeLimits& limits);
Decoded decode_webp(std::string_view bytes, const std::string& file, const DecodeLimits& limits);

/// Fails where an image is too large, or has no pixel.
void check_size(int64_t width, int64_t height, const std::string& file, const DecodeLimits& limits);

/// Fails with "FILE: JPEG: PROBLEM".
[[noreturn]] void fail_image(const std::string& file, std::string_view format,
                             std::string_view problem);

}  // namespace hone::image
