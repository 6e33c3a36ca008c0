#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hone {

/// An image: a JPEG, PNG or WebP file, told by its content, or pixels in memory.
struct Image {
  Image(std::string file_in) : file(std::move(file_in)) {}
  Image(const char* file_in) : file(file_in) {}
  Image(int64_t width_in, int64_t height_in, std::vector<uint8_t> pixels_in)
      : width(width_in), height(height_in), pixels(std::move(pixels_in)) {}

  std::string file;  ///< empty: the pixels are the image
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;  ///< red, green and blue of each; rows from the top
};

}  // namespace hone
