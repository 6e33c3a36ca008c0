#pragma once

#include <string>

#include "hone/image.h"
#include "image/decode.h"

namespace hone::api {

/// Gives an image as the raw sample that an ImageProcessor reads. Pixels that are not those of the
/// image's size are a usage error.
std::string sample_of(const Image& image, const image::DecodeLimits& limits);

}  // namespace hone::api
