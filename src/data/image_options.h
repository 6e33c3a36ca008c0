#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "data/content_hash.h"
#include "image/filter.h"
#include "image/image.h"

namespace hone::data {

/// Says how an image of any size becomes a model's input, as transformers' image processors do it:
/// resize, centre crop, rescale and normalise.
struct ImageOptions {
  struct Size {
    int64_t height = 0;
    int64_t width = 0;
  };

  std::optional<Size> exact;             ///< resize to this size, whatever the image's shape
  std::optional<int64_t> shortest_edge;  ///< resize so that the shorter edge has this length
  std::optional<Size> crop;              ///< the middle is cut out, or padded with 0 to this size
  std::optional<Size> second_crop;       ///< a further crop, where ConvNext's has crop_size too
  image::Filter filter = image::Filter::bilinear;
  int64_t height = 0;  ///< height of what the model reads
  int64_t width = 0;
  int64_t channels = image::kChannels;
  /// A value that the model reads is pixel * scale[c] + shift[c].
  std::array<float, image::kChannels> scale = {};
  std::array<float, image::kChannels> shift = {};
  std::string text;  ///< preprocessor_config.json, as it was read or as it would be written

  int64_t pixels() const { return height * width; }
};

inline constexpr const char* kImageOptionsFile = "preprocessor_config.json";

/// Reads preprocessor_config.json, or the one of a folder. What transformers' processors for ViT,
/// DeiT, ConvNext, CLIP and Bit do is understood; anything that would give another result is an
/// error that names the field.
ImageOptions read_image_options(const std::string& folder_or_file);
/// Reads the same of a file's text; `file` names it in errors.
ImageOptions parse_image_options(const std::string& text, const std::string& file);

/// Gives what a new model takes where nobody says otherwise: images of side x side, resized with
/// the bilinear filter, values from -1 to 1.
ImageOptions square_image_options(int64_t side);

/// Adds all that decides what becomes of an image's pixels.
void hash_options(const ImageOptions& options, ContentHash& hash);

}  // namespace hone::data
