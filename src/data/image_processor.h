#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/image_options.h"
#include "data/processor.h"
#include "image/decode.h"

namespace hone::data {

/// Gives an image in memory as a raw sample: a zero byte, which no path has, its width and height
/// (u32 each, little-endian), and its pixels. Data sets whose images lie many to a file use it.
std::string raw_image(const image::Image& image);
/// Says whether a raw sample is an image in memory, and not a path.
bool is_raw_image(std::string_view sample);

/// Reads images (paths, or images in memory) and makes them one size, as an image processor of
/// transformers does. A sample is its pixels: rows from the top, three bytes each.
class ImageProcessor : public Processor {
 public:
  /// Without a layout batches are those of image_layout(); another one comes with another class's
  /// append().
  explicit ImageProcessor(ImageOptions options, const image::DecodeLimits& limits = {},
                          std::shared_ptr<const BatchLayout> layout = {});

  const ImageOptions& options() const { return options_; }

  std::string_view sample_name() const override { return "image"; }
  std::string_view unit_name() const override { return "pixels"; }
  int64_t max_units() const override { return options_.pixels(); }
  int64_t unit_bytes() const override { return options_.channels; }
  int64_t pass_units(int64_t efficient_rows) const override;
  Hash128 hash() const override;
  void encode(std::span<const RawSample> raw, ThreadPool& pool,
              std::vector<EncodedSample>& out) const override;
  std::vector<std::string> try_encode(std::span<const RawSample> raw, ThreadPool& pool,
                                      std::vector<EncodedSample>& out) const override;
  void append(std::span<const std::byte> sample, int64_t number, Batch& batch) const override;
  OrderedJson facts() const override;
  std::vector<TextFile> files() const override;

  /// Decodes every raw sample and has `set` make a sample of it, by the pool's threads; gives what
  /// is wrong with each, as try_encode() does. The samples' width and height are set already.
  using SetSample = std::function<void(const image::Image& image, EncodedSample& out)>;
  std::vector<std::string> encode_each(std::span<const RawSample> raw, ThreadPool& pool,
                                       std::vector<EncodedSample>& out, const SetSample& set) const;

 private:
  image::Image load(const RawSample& raw) const;

  ImageOptions options_;
  image::DecodeLimits limits_;
};

/// Throws the first problem that try_encode() found (bad_file), where there is one.
void throw_first(const std::vector<std::string>& problems);

/// Resizes and cuts an image as the options say.
image::Image preprocess(const image::Image& image, const ImageOptions& options);

}  // namespace hone::data
