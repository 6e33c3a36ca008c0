#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "image/image.h"

namespace hone::image {

struct DecodeLimits {
  /// An image that says to have more is refused before anything is allocated for it. The default is
  /// the number from which Pillow warns of a decompression bomb.
  int64_t max_pixels = 89'478'485;
};

/// Decodes a JPEG, PNG or WebP file, told by its content. The pixels are, bit for bit, those of
/// Pillow's exif_transpose() and convert("RGB"), which is how transformers loads images: colours of
/// any kind become red, green and blue, alpha is left out, 16 bits lose their lower half, and the
/// image stands upright. `file` names it in errors (bad_file). A truncated file is an error.
Image decode(std::string_view bytes, const std::string& file, const DecodeLimits& limits = {});

/// Gives "JPEG", "PNG" or "WebP" by a file's first bytes; nothing where it is none of these.
std::string_view format_of(std::string_view bytes);

}  // namespace hone::image
