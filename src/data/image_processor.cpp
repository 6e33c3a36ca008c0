#include "data/image_processor.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "data/image_batch.h"
#include "image/resize.h"

namespace hone::data {
namespace {

constexpr size_t kRawHeader = 1 + 2 * sizeof(uint32_t);
constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;
/// A row of a text model's pass is some hundred products, a pixel of an image few.
constexpr int64_t kPixelsPerRow = 256;

image::Image image_of_raw(std::string_view sample) {
  uint32_t size[2] = {};
  if (sample.size() >= kRawHeader) std::memcpy(size, sample.data() + 1, sizeof size);
  const uint64_t bytes = uint64_t{size[0]} * size[1] * image::kChannels;
  if (bytes == 0 || bytes != sample.size() - kRawHeader) {
    fail(ErrorKind::bad_file, "an image in memory of {} x {} has {} bytes", size[0], size[1],
         sample.size());
  }
  image::Image image(size[0], size[1]);
  std::memcpy(image.pixels.data(), sample.data() + kRawHeader, bytes);
  return image;
}

/// Gives the size that an image gets before it is cut.
ImageOptions::Size resized_size(const image::Image& image, const ImageOptions& options) {
  if (options.exact) return *options.exact;
  if (!options.shortest_edge) return {image.height, image.width};
  const int64_t edge = *options.shortest_edge;
  const auto [shorter, longer] = std::minmax(image.width, image.height);
  const auto other =
      static_cast<int64_t>(static_cast<double>(edge * longer) / static_cast<double>(shorter));
  return image.width <= image.height ? ImageOptions::Size{other, edge}
                                     : ImageOptions::Size{edge, other};
}

}  // namespace

std::string raw_image(const image::Image& image) {
  const uint32_t size[2] = {static_cast<uint32_t>(image.width),
                            static_cast<uint32_t>(image.height)};
  std::string sample(kRawHeader, '\0');
  std::memcpy(sample.data() + 1, size, sizeof size);
  sample.append(reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size());
  return sample;
}

bool is_raw_image(std::string_view sample) { return sample.starts_with('\0'); }

image::Image preprocess(const image::Image& image, const ImageOptions& options) {
  const ImageOptions::Size size = resized_size(image, options);
  image::Resize how = {{0, 0, static_cast<double>(image.width), static_cast<double>(image.height)},
                       size.width,
                       size.height,
                       {0, 0, size.width, size.height}};
  // What a crop cuts off is not computed.
  if (options.crop && options.crop->width < size.width) {
    how.window.left = image::center_begin(size.width, options.crop->width);
    how.window.width = options.crop->width;
  }
  if (options.crop && options.crop->height < size.height) {
    how.window.top = image::center_begin(size.height, options.crop->height);
    how.window.height = options.crop->height;
  }
  image::Image out = image::resize(image, how, options.filter);
  for (const auto& crop : {options.crop, options.second_crop}) {
    if (crop) out = image::center_crop(out, crop->width, crop->height);
  }
  return out;
}

ImageProcessor::ImageProcessor(ImageOptions options, const image::DecodeLimits& limits,
                               std::shared_ptr<const BatchLayout> layout)
    : Processor(layout ? std::move(layout)
                       : image_layout(options.height, options.width, options.channels)),
      options_(std::move(options)),
      limits_(limits) {}

int64_t ImageProcessor::pass_units(int64_t efficient_rows) const {
  return efficient_rows * kPixelsPerRow;
}

Hash128 ImageProcessor::hash() const {
  ContentHash hash;
  hash.text("image");
  hash_options(options_, hash);
  return hash.value();
}

image::Image ImageProcessor::load(const RawSample& raw) const {
  if (is_raw_image(raw.text)) return image_of_raw(raw.text);
  const std::string path(raw.text);
  return image::decode(read_file(path, kMostFileBytes), path, limits_);
}

std::vector<std::string> ImageProcessor::encode_each(std::span<const RawSample> raw,
                                                     ThreadPool& pool,
                                                     std::vector<EncodedSample>& out,
                                                     const SetSample& set) const {
  out.resize(raw.size());
  std::vector<std::string> problems(raw.size());
  pool.run(std::ssize(raw), [&](int64_t task, int) {
    const auto i = static_cast<size_t>(task);
    try {
      const image::Image image = load(raw[i]);
      out[i].width = image.width;
      out[i].height = image.height;
      set(image, out[i]);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_file && error.kind() != ErrorKind::io) throw;
      problems[i] = error.what();
    }
  });
  return problems;
}

std::vector<std::string> ImageProcessor::try_encode(std::span<const RawSample> raw,
                                                    ThreadPool& pool,
                                                    std::vector<EncodedSample>& out) const {
  return encode_each(raw, pool, out, [this](const image::Image& image, EncodedSample& to) {
    const image::Image made = preprocess(image, options_);
    to.bytes.resize(made.pixels.size());
    std::memcpy(to.bytes.data(), made.pixels.data(), made.pixels.size());
    to.units = to.full = options_.pixels();
  });
}

void throw_first(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    if (!problem.empty()) throw Error(ErrorKind::bad_file, problem);
  }
}

void ImageProcessor::encode(std::span<const RawSample> raw, ThreadPool& pool,
                            std::vector<EncodedSample>& out) const {
  throw_first(try_encode(raw, pool, out));
}

void ImageProcessor::append(std::span<const std::byte> sample, int64_t, Batch& batch) const {
  const int64_t pixels = options_.pixels();
  if (std::ssize(sample) != pixels * options_.channels) {
    fail(ErrorKind::bad_file, "a sample of {} bytes; an image of {} x {} has {}", sample.size(),
         options_.width, options_.height, pixels * options_.channels);
  }
  batch.add(std::array<int64_t, 2>{1, pixels});
  batch.units += pixels;
  std::memcpy(batch.last<uint8_t>(kPixelInput).data(), sample.data(), sample.size());
  const std::span<float> levels = batch.last<float>(kLevelInput);
  std::copy(options_.scale.begin(), options_.scale.end(), levels.begin());
  std::copy(options_.shift.begin(), options_.shift.end(),
            levels.begin() + static_cast<ptrdiff_t>(options_.scale.size()));
}

OrderedJson ImageProcessor::facts() const {
  return {{"image_height", options_.height}, {"image_width", options_.width}};
}

std::vector<TextFile> ImageProcessor::files() const { return {{kImageOptionsFile, options_.text}}; }

}  // namespace hone::data
