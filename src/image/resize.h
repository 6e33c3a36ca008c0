#pragma once

#include <cstdint>

#include "image/filter.h"
#include "image/image.h"

namespace hone::image {

/// A part of an image, which may begin and end within pixels.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

/// Says how an image is resized: a part of it becomes width x height, of which `window` is kept.
struct Resize {
  struct Window {
    int64_t left = 0;
    int64_t top = 0;
    int64_t width = 0;
    int64_t height = 0;
  };
  Box box;  ///< lies in the image and is not empty
  int64_t width = 0;
  int64_t height = 0;
  Window window;  ///< lies in width x height; nothing is computed or allocated for the rest
};

/// Gives the image in another size, bit for bit as Pillow's Image.resize does: where it becomes
/// smaller, a filter covers as many pixels as one of the result (antialiasing); weights are
/// fixed-point numbers with Pillow's rounding, also between rows and columns. (Pillow 13's: earlier
/// ones filter rows first always, and differ by a level where the height shrinks more than the
/// width.)
Image resize(const Image& image, int64_t width, int64_t height, Filter filter);
Image resize(const Image& image, const Resize& how, Filter filter);

/// Cuts the middle out of an image. Where the image is smaller it is padded with 0 first, as
/// transformers' center_crop does.
Image center_crop(const Image& image, int64_t width, int64_t height);

/// Gives the first row (or column) of a centre crop in an image that is at least as large.
inline int64_t center_begin(int64_t size, int64_t crop) { return (size - crop) / 2; }

}  // namespace hone::image
