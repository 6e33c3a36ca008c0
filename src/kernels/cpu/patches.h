#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/window.h"

namespace hone::kernels {

/// Says how the rows of a product's left side lie in images [height, width, channels]: row r is the
/// patch of taps_y by taps_x pixels at place r of the grids, image by image. What lies outside of
/// an image is zero.
struct Patches {
  int64_t height, width, channels;
  int64_t grid_height, grid_width;
  int64_t step;       ///< pixels from one patch to the next, down and to the right
  int64_t top, left;  ///< where the first patch begins; may be negative
  int64_t taps_y, taps_x;

  int64_t row_width() const { return taps_y * taps_x * channels; }

  /// Calls copy(at, from, count) for the parts of row `row`: its elements from `at` on are those of
  /// the images from element `from` on, or zeros where `from` is negative.
  template <typename Copy>
  void visit(int64_t row, const Copy& copy) const {
    const int64_t grid = grid_height * grid_width;
    const int64_t image = row / grid, place = row % grid;
    const int64_t y = top + place / grid_width * step, x = left + place % grid_width * step;
    const int64_t begin = std::clamp<int64_t>(-x, 0, taps_x);
    const int64_t end = std::clamp<int64_t>(width - x, begin, taps_x);
    for (int64_t tap = 0, at = 0; tap < taps_y; ++tap, at += taps_x * channels) {
      if (y + tap < 0 || y + tap >= height) {
        copy(at, int64_t{-1}, taps_x * channels);
        continue;
      }
      const int64_t line = (image * height + y + tap) * width + x;
      if (begin > 0) copy(at, int64_t{-1}, begin * channels);
      if (end > begin)
        copy(at + begin * channels, (line + begin) * channels, (end - begin) * channels);
      if (end < taps_x) copy(at + end * channels, int64_t{-1}, (taps_x - end) * channels);
    }
  }
};

/// Gives the patches that a convolution's window covers.
inline Patches patches_of(const Window& window) {
  return {.height = window.height,
          .width = window.width,
          .channels = window.channels,
          .grid_height = window.out_height(),
          .grid_width = window.out_width(),
          .step = window.stride,
          .top = -window.padding,
          .left = -window.padding,
          .taps_y = window.kernel,
          .taps_x = window.kernel};
}

}  // namespace hone::kernels
