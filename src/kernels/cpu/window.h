#pragma once

#include <cstdint>

namespace hone::kernels {

/// A square window that passes over images [height, width, channels] with zeros around them: how a
/// convolution or a pooling reads. Images lie one behind the other, channels innermost.
struct Window {
  int64_t height = 1;
  int64_t width = 1;
  int64_t channels = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;

  int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  int64_t in_pixels() const { return height * width; }
  int64_t out_pixels() const { return out_height() * out_width(); }
  /// Gives the elements that the window covers: the width of a convolution's weight.
  int64_t covered() const { return kernel * kernel * channels; }
  /// Says whether every pixel is read once, alone: a convolution then is a plain product.
  bool is_pointwise() const { return kernel == 1 && stride == 1 && padding == 0; }
};

}  // namespace hone::kernels
