#include "cli/image_flags.h"

#include "base/error.h"

namespace hone::cli {

void declare(Arguments& arguments, image::DecodeLimits& limits) {
  arguments.integer("--max_image_pixels", 1, int64_t{1} << 32, limits.max_pixels,
                    "larger images are refused; default 89478485");
}

void ImageFlags::declare_data(Arguments& arguments, train::DataOptions& data) {
  arguments.text("--train_dir", "DIR", data.train_folder, "a folder of images for each class");
  arguments.text("--validation_dir", "DIR", data.validation_folder, "the same");
}

void ImageFlags::declare_augmentation(Arguments& arguments, train::DataOptions& data) {
  arguments.real("--train_val_split", 0, 0.999, data.validation_share,
                 "of own images, where none validate;\ndefault 0.15");
  arguments.flag("--skip_bad_images", data.skip_bad, "leave out what cannot be read, and list it");
  declare(arguments, data.image_limits);
  arguments.flag("--ignore_mismatched_sizes", ignore_mismatched_sizes_,
                 "accepted: a head of other classes is made new");
  arguments.flag("--random_resized_crop", augment_.resized_crop,
                 "parts of images, resized; with --random_flip\nthe default for own images");
  arguments.flag("--random_flip", augment_.flip, "mirror every second image");
  arguments.integer("--random_crop_padding", 1, 256, augment_.crop_padding,
                    "move images by up to so many pixels");
  arguments.integer("--cutout", 1, 4096, augment_.cutout, "side of a square without content");
  arguments.real("--mixup_alpha", 0, 100, augment_.mixup_alpha, "blend images and labels");
  arguments.real("--cutmix_alpha", 0, 100, augment_.cutmix_alpha, "replace parts of images");
  arguments.flag("--no_augment", no_augment_, "train on images as they are");
}

void ImageFlags::resolve(train::DataOptions& data) const {
  if (no_augment_ && augment_.any()) {
    fail(ErrorKind::usage, "--no_augment: not together with {}", augment_.text());
  }
  if (no_augment_ || augment_.any()) data.augment = augment_;
}

}  // namespace hone::cli
