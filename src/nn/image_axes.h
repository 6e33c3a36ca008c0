#pragma once

#include <compare>
#include <memory>
#include <vector>

#include "kernels/cpu/window.h"
#include "plan/axes.h"

namespace hone::nn {

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  int64_t pixels() const { return height * width; }
  auto operator<=>(const ImageSize&) const = default;
};

/// Gives the window of a convolution or a pooling over images, padded by half of it.
inline kernels::Window window_of(const ImageSize& size, int64_t channels, int64_t kernel,
                                 int64_t stride) {
  return {size.height, size.width, channels, kernel, stride, kernel / 2};
}

/// The axes of a plan over images: how many there are, and their pixels together at each of the
/// sizes that they take on the way through a model.
class ImageAxes {
 public:
  /// Begins with the axes of a batch (see data/image_batch.h): `images`, and `pixels` of that size.
  ImageAxes(Axis images, Axis pixels, const ImageSize& size);

  Axis images() const { return images_; }
  /// Gives the axis of the pixels at a size, which is declared where it is new. More sizes than
  /// there are axes are an error.
  Axis of(const ImageSize& size);

  /// Gives the rules of all axes so far. Where `pads`, a device that replays by buckets runs for
  /// more images than there are: inference may, but the statistics of training may not.
  std::shared_ptr<const Axes> rules(bool pads) const;

 private:
  struct Pixels {
    Axis axis;
    int64_t count;  ///< pixels of an image
  };
  Axis images_;
  std::vector<Pixels> pixels_;
};

}  // namespace hone::nn
