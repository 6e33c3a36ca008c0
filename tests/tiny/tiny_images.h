#pragma once

#include <string>

/// A second family of models, as small as can be, that takes images: what the house promises to any
/// family is tested with it. Its samples are images of any size, its axis of pixels follows
/// from that of images, its norm writes running statistics while it trains, and it gives two
/// answers with a loss each: the class, and the image's brightness.
namespace hone::tiny {

inline constexpr int kSide = 3;  ///< pixels of an image's height and width

/// Makes the family known; a second call does nothing.
void register_tiny_images();

/// Writes a PNG file whose first pixel has this colour, and the others one by `seed`.
void write_image(const std::string& path, int red, int green, int blue, unsigned seed);

/// Writes a config.json for a new model of the family into a folder, which is made.
void write_tiny_config(const std::string& folder);

}  // namespace hone::tiny
