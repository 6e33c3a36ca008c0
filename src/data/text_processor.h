#pragma once

#include <optional>
#include <utility>

#include "data/processor.h"
#include "data/text_batch.h"

namespace hone::data {

/// A tokenizer as a model uses it; a text without tokens is one padding token. A stored sample is
/// its ids (i32 each), then its type ids (u8).
class TextProcessor : public Processor {
 public:
  /// Tells where a tokenizer comes from, for its hash and for save(): a folder, a file, or texts
  /// under their names.
  struct Origin {
    std::string path;
    std::vector<TextFile> files = {};
  };
  /// Makes a processor that cuts texts to `max_length` tokens. A tokenizer with ids that the model
  /// has no embedding for is an error that names `model`.
  TextProcessor(text::Tokenizer tokenizer, Origin origin, const TextLimits& limits,
                int64_t max_length, const std::string& model);

  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  const TextLimits& limits() const { return limits_; }

  std::string_view sample_name() const override { return "text"; }
  std::string_view unit_name() const override { return "tokens"; }
  bool reads_ids() const override { return true; }
  int64_t max_units() const override { return max_length_; }
  int64_t unit_bytes() const override { return sizeof(int32_t) + sizeof(uint8_t); }
  Hash128 hash() const override;
  void encode(std::span<const RawSample> raw, ThreadPool& pool,
              std::vector<EncodedSample>& out) const override;
  /// Encodes as encode() does, but a text that is too long loses its begin.
  void encode_cut_left(std::span<const RawSample> raw, ThreadPool& pool,
                       std::vector<EncodedSample>& out) const;
  /// Makes a sample of token ids, special ones included, of type 0 each. More than there may be are
  /// cut at their end, or at their begin. An empty list and an id that the model has no embedding
  /// for are errors.
  void encode_ids(std::span<const int32_t> ids, bool cut_left, EncodedSample& out) const;
  void append(std::span<const std::byte> sample, int64_t number, Batch& batch) const override;
  OrderedJson facts() const override;
  std::vector<TextFile> files() const override;

 protected:
  /// Makes a processor of texts with more to them than tokens.
  TextProcessor(std::shared_ptr<const BatchLayout> layout, text::Tokenizer tokenizer, Origin origin,
                const TextLimits& limits, int64_t max_length, const std::string& model);
  /// Writes what a sample has behind its ids and types. Several threads call it at one time.
  virtual void add_to(EncodedSample& /*sample*/, const RawSample& /*raw*/,
                      const text::Encoding& /*encoding*/) const {}
  /// Appends a sample's tokens, with room for `more` rows of the layout's further axes.
  void append_with(std::span<const std::byte> sample, int64_t number, Batch& batch,
                   std::span<const int64_t> more) const;

 private:
  void encode_with(const text::EncodeOptions& options, std::span<const RawSample> raw,
                   ThreadPool& pool, std::vector<EncodedSample>& out) const;

  /// Gives the tokens of a sample whose text has `found`, cut to the length already.
  size_t kept_tokens(size_t found) const;
  /// Makes `out` a sample of so many padding tokens.
  void resize_sample(size_t kept, size_t full, EncodedSample& out) const;

  text::Tokenizer tokenizer_;
  Origin origin_;
  TextLimits limits_;
  int64_t max_length_;
  text::EncodeOptions encode_;
};

}  // namespace hone::data
