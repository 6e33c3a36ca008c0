#include "nn/image_axes.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace hone::nn {
namespace {

/// Rounds in steps of an eighth to a quarter, so that few buckets serve all batches.
int64_t round_images(int64_t images) {
  if (images <= 8) return images;
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(images)));
  const int64_t step = power / 8;
  return (images + step - 1) / step * step;
}

}  // namespace

ImageAxes::ImageAxes(Axis images, Axis pixels, const ImageSize& size)
    : images_(images), pixels_{{pixels, size.pixels()}} {}

Axis ImageAxes::of(const ImageSize& size) {
  const auto found = std::find_if(pixels_.begin(), pixels_.end(), [&](const Pixels& known) {
    return known.count == size.pixels();
  });
  if (found != pixels_.end()) return found->axis;
  const size_t next = static_cast<size_t>(pixels_.back().axis) + 1;
  if (next >= kMaxAxes) {
    fail(ErrorKind::unsupported, "an image takes more than {} sizes on its way through the model",
         pixels_.size());
  }
  pixels_.push_back({static_cast<Axis>(next), size.pixels()});
  return pixels_.back().axis;
}

std::shared_ptr<const Axes> ImageAxes::rules(bool pads) const {
  auto axes = std::make_shared<Axes>();
  const auto round = [images = images_](const Extents& batch, const Extents&) {
    return round_images(batch[images]);
  };
  axes->count(images_, "images", pads ? Axes::Round(round) : Axes::Round());
  for (const Pixels& pixels : pixels_) {
    axes->derived(pixels.axis, "pixels",
                  [images = images_, count = pixels.count](const Extents& extents) {
                    return extents[images] * count;
                  });
  }
  return axes;
}

}  // namespace hone::nn
