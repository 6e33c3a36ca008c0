#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/batch.h"
#include "data/content_hash.h"
#include "data/records.h"
#include "text/tokenizer.h"

namespace hone {
class ThreadPool;
}

namespace hone::data {

enum class SampleKind : uint8_t { text, image };

/// A raw sample is what a user hands in: a text or a pair of texts, or the path of an image.
using RawSample = text::TextInput;

/// Gives a record's sample, which points into it.
inline RawSample raw_of(const Record& record) { return {record.text, record.pair, record.ids}; }

/// A sample as a model reads it, in the form that stores keep.
struct EncodedSample {
  std::vector<std::byte> bytes;
  int64_t units = 0;  ///< tokens, pixels: what batches are measured in
  int64_t full = 0;   ///< units that the raw sample has; more than `units` where it was cut
  int64_t width = 0;  ///< width of an image before it was resized, as height
  int64_t height = 0;
  bool truncated() const { return full > units; }
};

struct TextFile {
  std::string name;  ///< the image's name within its folder
  std::string text;
};

/// Makes samples of what users hand in, and batches of samples. It is immutable; threads share it.
class Processor {
 public:
  virtual ~Processor() = default;

  /// Gives what users call a sample: "text", "image".
  virtual std::string_view sample_name() const = 0;
  /// Gives what users call a sample's units: "tokens", "pixels".
  virtual std::string_view unit_name() const = 0;
  /// Gives the most units that a sample has.
  virtual int64_t max_units() const = 0;
  /// Says whether raw samples may be ids in place of texts.
  virtual bool reads_ids() const { return false; }
  /// Gives the bytes of a stored sample for each of its units.
  virtual int64_t unit_bytes() const = 0;
  /// Gives the units of a pass that is efficient where one of a text model has so many rows.
  virtual int64_t pass_units(int64_t efficient_rows) const { return efficient_rows; }
  /// Hashes all that decides what encode() gives, for the keys of stores.
  virtual Hash128 hash() const = 0;

  /// Sets out[i] to the sample of raw[i]; `out` is resized, its elements' memory reused. One that
  /// cannot be read is an error that says which by its text.
  virtual void encode(std::span<const RawSample> raw, ThreadPool& pool,
                      std::vector<EncodedSample>& out) const = 0;
  /// Encodes as encode() does, but says of each raw sample what is wrong with it (empty: nothing)
  /// where files may be bad. Without such files there is nothing to say, and the answer is empty.
  virtual std::vector<std::string> try_encode(std::span<const RawSample> raw, ThreadPool& pool,
                                              std::vector<EncodedSample>& out) const {
    encode(raw, pool, out);
    return {};
  }

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

  /// Reaches the other samples of a training set.
  struct OtherSamples {
    int64_t samples = 0;
    /// Reads a sample; valid until the next call.
    std::function<std::span<const std::byte>(int64_t number)> read;
  };
  /// Says which sample was mixed into one, and how much of its label is still its own.
  struct Mixed {
    int64_t other = 0;
    float share = 1;
  };
  /// Says whether training mixes samples; labels are then shares of classes.
  virtual bool mixes() const { return false; }
  /// Appends a sample of a training set as it is in the batch's epoch.
  virtual Mixed append_for_training(std::span<const std::byte> sample, int64_t number,
                                    const OtherSamples&, Batch& batch) const {
    append(sample, number, batch);
    return {number, 1};
  }

 protected:
  explicit Processor(std::shared_ptr<const BatchLayout> layout) : layout_(std::move(layout)) {}

 private:
  std::shared_ptr<const BatchLayout> layout_;
};

}  // namespace hone::data
