#include "data/image_batch.h"

namespace hone::data {

std::shared_ptr<const BatchLayout> image_layout(int64_t height, int64_t width, int64_t channels) {
  auto layout = std::make_shared<BatchLayout>();
  layout->inputs = {{"pixels", DType::u8, kPixels, channels},
                    {"levels", DType::f32, kImages, 2 * channels}};
  layout->axes = {kImages, kPixels};
  layout->extents = [pixels = height * width](int64_t samples, int64_t, int64_t) {
    Extents extents;
    extents[kImages] = samples;
    extents[kPixels] = samples * pixels;
    return extents;
  };
  return layout;
}

}  // namespace hone::data
