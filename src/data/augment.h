#pragma once

#include <cstdint>
#include <string>

#include "data/image_options.h"
#include "image/image.h"

namespace hone::data {

/// What training changes of an image each time it comes up. Every choice is a function of the seed,
/// the epoch, the image's number in its data set and what is chosen: it does not depend on threads,
/// batches, ranks or restarts.
struct AugmentOptions {
  int64_t crop_padding = 0;   ///< black pixels on each side, of which a part of its size is cut
  bool resized_crop = false;  ///< a part of any place, size and shape is resized
  double least_area = 0.08;   ///< least share of the image's area that such a part has
  bool flip = false;          ///< every second image is mirrored
  int64_t cutout = 0;         ///< side of a square that is made 0 to the model
  double mixup_alpha = 0;   ///< images and labels are blended with another's, by Beta(alpha, alpha)
  double cutmix_alpha = 0;  ///< a part is another's image, and that share of the label

  bool mixes() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
  bool any() const { return crop_padding > 0 || resized_crop || flip || cutout > 0 || mixes(); }
  /// Describes all of it, for people and for checkpoints.
  std::string text() const;
};

/// What is known of an image when its choices are made.
struct AugmentKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t sample = 0;
};

/// Gives what the model reads of an image: cut, mirrored, with a hole, as the options say, in the
/// model's size. `image` has that size already unless parts are resized.
image::Image augment(const image::Image& image, const ImageOptions& model,
                     const AugmentOptions& options, const AugmentKey& key);

/// How an image is mixed with another.
struct Mixing {
  int64_t other = 0;                                 ///< the other's number
  double share = 1;                                  ///< the first one's share of the label
  bool blends = true;                                ///< false: a part is replaced
  int64_t left = 0, top = 0, right = 0, bottom = 0;  ///< what is replaced
};

/// Chooses how an image of width x height is mixed, among `samples` of the data set.
Mixing choose_mixing(const AugmentOptions& options, const AugmentKey& key, int64_t samples,
                     int64_t width, int64_t height);
/// Mixes another image of the same size into this one.
void mix(const Mixing& mixing, const image::Image& other, image::Image& image);

}  // namespace hone::data
