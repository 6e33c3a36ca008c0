#pragma once

#include "cli/arguments.h"
#include "image/decode.h"
#include "train/options.h"

namespace hone::cli {

/// The words of `hone train` about images, most in the spelling of run_image_classification.
class ImageFlags {
 public:
  void declare_data(Arguments& arguments, train::DataOptions& data);
  void declare_augmentation(Arguments& arguments, train::DataOptions& data);
  /// Says what the words mean together, after parse().
  void resolve(train::DataOptions& data) const;

 private:
  data::AugmentOptions augment_;
  bool no_augment_ = false;
  bool ignore_mismatched_sizes_ = false;
};

/// Declares --max_image_pixels.
void declare(Arguments& arguments, image::DecodeLimits& limits);

}  // namespace hone::cli
