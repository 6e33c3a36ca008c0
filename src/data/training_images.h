#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/augment.h"
#include "data/image_processor.h"

namespace hone::data {

/// The processor of a training set of images. What it stores is decoded once: the whole image in a
/// size from which parts may be cut, or the model's. Each time a sample comes up it is changed as
/// the options say, and handed to the model's own processor. A sample is its width (three bytes,
/// little-endian) and its pixels.
class TrainingImages : public Processor {
 public:
  /// `inner` must outlive this.
  TrainingImages(const ImageProcessor& inner, const AugmentOptions& options, uint64_t seed);

  std::string_view sample_name() const override { return inner_.sample_name(); }
  std::string_view unit_name() const override { return inner_.unit_name(); }
  int64_t max_units() const override { return inner_.max_units(); }
  int64_t unit_bytes() const override { return image::kChannels; }
  int64_t pass_units(int64_t efficient_rows) const override {
    return inner_.pass_units(efficient_rows);
  }
  Hash128 hash() const override;
  void encode(std::span<const RawSample> raw, ThreadPool& pool,
              std::vector<EncodedSample>& out) const override;
  std::vector<std::string> try_encode(std::span<const RawSample> raw, ThreadPool& pool,
                                      std::vector<EncodedSample>& out) const override;
  /// Appends the sample as it is in the first epoch, without another.
  void append(std::span<const std::byte> sample, int64_t number, Batch& batch) const override;
  bool mixes() const override { return options_.mixes(); }
  Mixed append_for_training(std::span<const std::byte> sample, int64_t number,
                            const OtherSamples& others, Batch& batch) const override;
  OrderedJson facts() const override { return inner_.facts(); }
  std::vector<TextFile> files() const override { return inner_.files(); }

 private:
  image::Image stored_form(const image::Image& image) const;
  image::Image augmented(std::span<const std::byte> sample, int64_t number, int64_t epoch) const;

  const ImageProcessor& inner_;
  AugmentOptions options_;
  uint64_t seed_;
};

}  // namespace hone::data
