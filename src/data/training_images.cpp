#include "data/training_images.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "image/resize.h"

namespace hone::data {
namespace {

constexpr size_t kHeader = 3;
/// The shorter edge of a stored image beside the model's: what an evaluation resizes to before it
/// cuts the middle out is 256 for 224.
constexpr int64_t kStoredOf7 = 8;
/// Parts of a shape from 3:4 to 4:3 are cut out of no more than this many squares.
constexpr int64_t kMostSquares = 4;

std::span<const std::byte> bytes_of(const image::Image& image) {
  return std::as_bytes(std::span(image.pixels));
}

}  // namespace

TrainingImages::TrainingImages(const ImageProcessor& inner, const AugmentOptions& options,
                               uint64_t seed)
    : Processor(inner.layout()), inner_(inner), options_(options), seed_(seed) {}

Hash128 TrainingImages::hash() const {
  ContentHash hash;
  hash.text(options_.resized_crop ? "whole images" : "images");
  for (const uint64_t part : inner_.hash()) hash.number(part);
  return hash.value();
}

image::Image TrainingImages::stored_form(const image::Image& image) const {
  const ImageOptions& model = inner_.options();
  if (!options_.resized_crop) return preprocess(image, model);
  const int64_t most = std::max<int64_t>(1, std::max(model.width, model.height) * kStoredOf7 / 7);
  const int64_t shorter = std::min(image.width, image.height);
  const int64_t width = std::min(image.width, shorter * kMostSquares);
  const int64_t height = std::min(image.height, shorter * kMostSquares);
  const auto left = static_cast<double>((image.width - width) / 2);
  const auto top = static_cast<double>((image.height - height) / 2);
  const int64_t edge = std::min(shorter, most);
  const int64_t out_width = width * edge / shorter, out_height = height * edge / shorter;
  const image::Resize how = {
      {left, top, left + static_cast<double>(width), top + static_cast<double>(height)},
      out_width,
      out_height,
      {0, 0, out_width, out_height}};
  return image::resize(image, how, model.filter);
}

std::vector<std::string> TrainingImages::try_encode(std::span<const RawSample> raw,
                                                    ThreadPool& pool,
                                                    std::vector<EncodedSample>& out) const {
  return inner_.encode_each(raw, pool, out, [this](const image::Image& image, EncodedSample& to) {
    const image::Image stored = stored_form(image);
    to.bytes.resize(kHeader + stored.pixels.size());
    for (size_t i = 0; i < kHeader; ++i) {
      to.bytes[i] = static_cast<std::byte>(stored.width >> 8 * i);
    }
    std::memcpy(to.bytes.data() + kHeader, stored.pixels.data(), stored.pixels.size());
    to.units = to.full = 1 + stored.width * stored.height;
  });
}

void TrainingImages::encode(std::span<const RawSample> raw, ThreadPool& pool,
                            std::vector<EncodedSample>& out) const {
  throw_first(try_encode(raw, pool, out));
}

image::Image TrainingImages::augmented(std::span<const std::byte> sample, int64_t number,
                                       int64_t epoch) const {
  int64_t width = 0;
  for (size_t i = 0; i < std::min(kHeader, sample.size()); ++i) {
    width |= static_cast<int64_t>(sample[i]) << 8 * i;
  }
  const auto pixels = static_cast<int64_t>(sample.size() / image::kChannels) - 1;
  const ImageOptions& model = inner_.options();
  const bool whole = width > 0 && pixels > 0 && pixels % width == 0;
  if (!whole || (!options_.resized_crop && (width != model.width || pixels != model.pixels()))) {
    fail(ErrorKind::bad_file, "image: expected rows of pixels, got {} bytes", sample.size());
  }
  image::Image stored(width, pixels / width);
  std::memcpy(stored.pixels.data(), sample.data() + kHeader, stored.pixels.size());
  return augment(stored, model, options_, {seed_, epoch, number});
}

void TrainingImages::append(std::span<const std::byte> sample, int64_t number, Batch& batch) const {
  inner_.append(bytes_of(augmented(sample, number, 0)), number, batch);
}

Processor::Mixed TrainingImages::append_for_training(std::span<const std::byte> sample,
                                                     int64_t number, const OtherSamples& others,
                                                     Batch& batch) const {
  const int64_t epoch = batch.begin.epoch;
  image::Image image = augmented(sample, number, epoch);
  Mixed mixed{number, 1};
  if (options_.mixes()) {
    const Mixing mixing =
        choose_mixing(options_, {seed_, epoch, number}, others.samples, image.width, image.height);
    mix(mixing, augmented(others.read(mixing.other), mixing.other, epoch), image);
    mixed = {mixing.other, static_cast<float>(mixing.share)};
  }
  inner_.append(bytes_of(image), number, batch);
  return mixed;
}

}  // namespace hone::data
