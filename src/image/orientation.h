#pragma once

#include <string_view>

#include "image/image.h"

namespace hone::image {

/// Reads the orientation of an EXIF block ("Exif\0\0" before it is skipped), from 1 to 8. 0 where
/// there is none, or the block is damaged.
int exif_orientation(std::string_view exif);

/// Reads tiff:Orientation of an XMP packet; 0 where there is none.
int xmp_orientation(std::string_view xmp);

/// Turns an image of that EXIF orientation upright.
Image upright(Image image, int orientation);

}  // namespace hone::image
