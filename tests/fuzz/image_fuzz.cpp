// layers: data
#include "data/image_options.h"
#include "data/image_processor.h"
#include "fuzz/refusal.h"
#include "image/decode.h"

/// Any bytes are an image of no more pixels than are allowed, or a refusal that names the file.
/// What was decoded can be made a model's input.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  constexpr int64_t kMost = 1 << 16;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  accepts("input.jpg: ", [&] {
    const image::Image image = image::decode(bytes, "input.jpg", {.max_pixels = kMost});
    if (image.width < 1 || image.height < 1 || image.width > kMost / image.height) std::abort();
    if (std::ssize(image.pixels) != image.width * image.height * image::kChannels) std::abort();
    static const data::ImageOptions options = data::square_image_options(9);
    if (data::preprocess(image, options).pixels.size() != 3 * 81) std::abort();
  });
  return 0;
}
