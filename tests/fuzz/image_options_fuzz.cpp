// layers: data
#include <cmath>

#include "data/image_options.h"
#include "data/image_processor.h"
#include "fuzz/refusal.h"

/// A preprocessor_config.json that is accepted makes images of the size that it says, in memory
/// that an image of that size takes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string text(reinterpret_cast<const char*>(data), size);
  data::ImageOptions options;
  if (!accepts("input.json: ", [&] { options = data::parse_image_options(text, "input.json"); })) {
    return 0;
  }
  if (options.height < 1 || options.width < 1) std::abort();
  for (const float level : options.scale) {
    if (std::isnan(level)) std::abort();
  }
  if (options.pixels() > 1 << 16) return 0;
  const image::Image made = data::preprocess(image::Image(7, 5), options);
  if (made.width != options.width || made.height != options.height) std::abort();
  return 0;
}
