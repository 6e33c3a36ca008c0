#include "data/augment.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "image/resize.h"

namespace hone::data {
namespace {

using image::Image;
using image::kChannels;

/// What is chosen: a part of the counter, so that no two choices share their numbers.
enum class Choice : uint64_t { shift, part, flip, hole, partner, blend, place };

/// The random numbers of one choice for one image in one epoch.
class Draw {
 public:
  Draw(const AugmentKey& key, Choice choice)
      : seed_(key.seed ^ kStream),
        high_(static_cast<uint64_t>(key.epoch) << 8 | static_cast<uint64_t>(choice)),
        sample_(static_cast<uint64_t>(key.sample)) {}

  /// Gives a number in [0, 1) with 53 bits.
  double real() {
    const auto words = next();
    return static_cast<double>((uint64_t{words[0]} << 32 | words[1]) >> 11) * 0x1p-53;
  }
  /// Gives a whole number in [0, end).
  int64_t below(int64_t end) {
    return std::min(static_cast<int64_t>(real() * static_cast<double>(end)), end - 1);
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - real()));
    return radius * std::cos(2 * std::numbers::pi * real());
  }

 private:
  static constexpr uint64_t kStream = 0x6175676d656e7473;  // apart from shuffles and dropout

  std::array<uint32_t, 4> next() { return philox(seed_, high_ | drawn_++ << 48, sample_); }

  uint64_t seed_;
  uint64_t high_;
  uint64_t sample_;
  uint64_t drawn_ = 0;
};

/// Draws from Gamma(shape, 1), by Marsaglia and Tsang.
double gamma(double shape, Draw& draw) {
  if (shape < 1) return gamma(shape + 1, draw) * std::pow(1 - draw.real(), 1 / shape);
  const double d = shape - 1. / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draw.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - draw.real()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

double beta(double alpha, Draw& draw) {
  const double a = gamma(alpha, draw), b = gamma(alpha, draw);
  return a + b > 0 ? a / (a + b) : 0.5;
}

/// Moves an image by up to `padding` pixels each way; what comes in is black.
Image shifted(const Image& image, int64_t padding, Draw draw) {
  const int64_t dx = draw.below(2 * padding + 1) - padding;
  const int64_t dy = draw.below(2 * padding + 1) - padding;
  Image out(image.width, image.height);
  const int64_t first = std::max<int64_t>(0, -dx), end = std::min(image.width, image.width - dx);
  for (int64_t y = 0; y < image.height; ++y) {
    if (y + dy < 0 || y + dy >= image.height || first >= end) continue;
    std::copy_n(image.row(y + dy) + (first + dx) * kChannels, (end - first) * kChannels,
                out.row(y) + first * kChannels);
  }
  return out;
}

/// Chooses a part as torchvision's RandomResizedCrop does: ten tries, then the largest in the
/// middle whose shape is allowed.
image::Box choose_part(const Image& image, double least_area, Draw draw) {
  constexpr double kLeast = 3. / 4, kMost = 4. / 3;
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  for (int i = 0; i < 10; ++i) {
    const double area = width * height * (least_area + (1 - least_area) * draw.real());
    const double shape =
        std::exp(std::log(kLeast) + (std::log(kMost) - std::log(kLeast)) * draw.real());
    const auto w = std::lround(std::sqrt(area * shape)), h = std::lround(std::sqrt(area / shape));
    if (w < 1 || h < 1 || w > image.width || h > image.height) continue;
    const auto left = static_cast<double>(draw.below(image.width - w + 1));
    const auto top = static_cast<double>(draw.below(image.height - h + 1));
    return {left, top, left + static_cast<double>(w), top + static_cast<double>(h)};
  }
  const double w = std::min(width, std::max(1., std::round(height * kMost)));
  const double h = std::min(height, std::max(1., std::round(width / kLeast)));
  const double left = std::floor((width - w) / 2), top = std::floor((height - h) / 2);
  return {left, top, left + w, top + h};
}

Image resized_part(const Image& image, const ImageOptions& model, const AugmentOptions& options,
                   const AugmentKey& key) {
  const image::Resize how = {choose_part(image, options.least_area, Draw(key, Choice::part)),
                             model.width,
                             model.height,
                             {0, 0, model.width, model.height}};
  return image::resize(image, how, model.filter);
}

void mirror(Image& image) {
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* row = image.row(y);
    for (int64_t a = 0, b = image.width - 1; a < b; ++a, --b) {
      std::swap_ranges(row + a * kChannels, row + (a + 1) * kChannels, row + b * kChannels);
    }
  }
}

/// Gives the part of a square around a point that lies in the image.
Mixing square_at(int64_t x, int64_t y, int64_t w, int64_t h, int64_t width, int64_t height) {
  Mixing part;
  part.left = std::max<int64_t>(0, x - w / 2);
  part.top = std::max<int64_t>(0, y - h / 2);
  part.right = std::min(width, x - w / 2 + w);
  part.bottom = std::min(height, y - h / 2 + h);
  return part;
}

/// Makes a square around any point of the image 0 as the model reads it.
void cut_out(Image& image, const ImageOptions& model, int64_t side, Draw draw) {
  const int64_t x = draw.below(image.width), y = draw.below(image.height);
  const Mixing hole = square_at(x, y, side, side, image.width, image.height);
  std::array<uint8_t, kChannels> zero = {};
  for (size_t c = 0; c < zero.size(); ++c) {
    zero[c] =
        static_cast<uint8_t>(std::clamp(std::round(-model.shift[c] / model.scale[c]), 0.f, 255.f));
  }
  for (int64_t row = hole.top; row < hole.bottom; ++row) {
    uint8_t* pixel = image.row(row) + hole.left * kChannels;
    for (int64_t i = hole.left; i < hole.right; ++i) {
      for (const uint8_t value : zero) *pixel++ = value;
    }
  }
}

}  // namespace

std::string AugmentOptions::text() const {
  std::string out;
  const auto add = [&](bool on, const std::string& what) {
    if (on) out += (out.empty() ? "" : ", ") + what;
  };
  add(crop_padding > 0, fmt::format("crops with padding {}", crop_padding));
  add(resized_crop, fmt::format("resized crops from {}", least_area));
  add(flip, "flips");
  add(cutout > 0, fmt::format("cutout {}", cutout));
  add(mixup_alpha > 0, fmt::format("mixup {}", mixup_alpha));
  add(cutmix_alpha > 0, fmt::format("CutMix {}", cutmix_alpha));
  return out.empty() ? "none" : out;
}

Image augment(const Image& image, const ImageOptions& model, const AugmentOptions& options,
              const AugmentKey& key) {
  Image out = options.resized_crop ? resized_part(image, model, options, key) : image;
  if (options.crop_padding > 0) {
    out = shifted(out, options.crop_padding, Draw(key, Choice::shift));
  }
  if (options.flip && Draw(key, Choice::flip).real() < 0.5) mirror(out);
  if (options.cutout > 0) cut_out(out, model, options.cutout, Draw(key, Choice::hole));
  return out;
}

Mixing choose_mixing(const AugmentOptions& options, const AugmentKey& key, int64_t samples,
                     int64_t width, int64_t height) {
  Draw partner(key, Choice::partner), place(key, Choice::place), blend(key, Choice::blend);
  const bool both = options.mixup_alpha > 0 && options.cutmix_alpha > 0;
  const bool blends = both ? blend.real() < 0.5 : options.mixup_alpha > 0;
  const double share = beta(blends ? options.mixup_alpha : options.cutmix_alpha, blend);
  Mixing mixing;
  if (!blends) {
    const double side = std::sqrt(1 - share);
    mixing = square_at(place.below(width), place.below(height),
                       static_cast<int64_t>(side * static_cast<double>(width)),
                       static_cast<int64_t>(side * static_cast<double>(height)), width, height);
  }
  const int64_t cut = (mixing.right - mixing.left) * (mixing.bottom - mixing.top);
  mixing.other = partner.below(samples);
  mixing.blends = blends;
  mixing.share =
      blends ? share : 1 - static_cast<double>(cut) / static_cast<double>(width * height);
  return mixing;
}

void mix(const Mixing& mixing, const Image& other, Image& image) {
  if (mixing.blends) {
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      const double value = mixing.share * image.pixels[i] + (1 - mixing.share) * other.pixels[i];
      image.pixels[i] = static_cast<uint8_t>(value + 0.5);
    }
    return;
  }
  for (int64_t y = mixing.top; y < mixing.bottom; ++y) {
    std::copy_n(other.row(y) + mixing.left * kChannels, (mixing.right - mixing.left) * kChannels,
                image.row(y) + mixing.left * kChannels);
  }
}

}  // namespace hone::data
