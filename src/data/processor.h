#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/batch.h"
#include "data/content_hash.h"
#include "text/tokenizer.h"

namespace hone {
class ThreadPool;
}

namespace hone::data {

/// A raw sample is what a user hands in: a text or a pair of texts, or the path of an image.
using RawSample = text::TextInput;

/// A sample as a model reads it, in the form that stores keep.
struct EncodedSample {
  std::vector<std::byte> bytes;
  int64_t units = 0;  ///< tokens, pixels: what batches are measured in
  int64_t full = 0;   ///< units that the raw sample has; more than `units` where it was cut
  bool truncated() const { return full > units; }
};

struct TextFile {
  std::string name;  ///< within its folder
  std::string text;
};

/// Makes samples of what users hand in, and batches of samples. Immutable and shared by threads.
class Processor {
 public:
  virtual ~Processor() = default;

  /// Gives what users call a sample: "text", "image".
  virtual std::string_view sample_name() const = 0;
  /// Gives what users call a sample's units: "tokens", "pixels".
  virtual std::string_view unit_name() const = 0;
  /// Gives the most units that a sample has.
  virtual int64_t max_units() const = 0;
  /// Gives the bytes of a stored sample for each of its units.
  virtual int64_t unit_bytes() const = 0;
  /// Hashes all that decides what encode() gives, for the keys of stores.
  virtual Hash128 hash() const = 0;

  /// Sets out[i] to the sample of raw[i]; `out` is resized, its elements' memory reused. One that
  /// cannot be read is an error that says which by its text.
  virtual void encode(std::span<const RawSample> raw, ThreadPool& pool,
                      std::vector<EncodedSample>& out) const = 0;

  const std::shared_ptr<const BatchLayout>& layout() const { return layout_; }
  Extents extents(int64_t samples, int64_t units, int64_t longest) const {
    return layout_->extents(samples, units, longest);
  }
  /// Appends an encoded sample to a batch of this layout. `number` is the sample's in its data set,
  /// for training's random choices. What comes from a file is checked.
  virtual void append(std::span<const std::byte> sample, int64_t number, Batch& batch) const = 0;

  /// Describes the processor for people: {"tokenizer": "WordPiece", "vocabulary": 30522}.
  virtual OrderedJson facts() const = 0;
  /// Gives the processor's files in a model folder.
  virtual std::vector<TextFile> files() const = 0;

 protected:
  explicit Processor(std::shared_ptr<const BatchLayout> layout) : layout_(std::move(layout)) {}

 private:
  std::shared_ptr<const BatchLayout> layout_;
};

}  // namespace hone::data
