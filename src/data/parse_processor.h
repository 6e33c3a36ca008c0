#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/text_processor.h"
#include "data/tree_marks.h"
#include "trees/words.h"

namespace hone::data {

/// The further axes of a batch of texts with their words.
inline constexpr Axis kBounds{5};  ///< places between words, before the first and behind the last
inline constexpr Axis kCells{6};   ///< spans of two words or more; see kernels/cpu/chart.h

/// The further inputs of such a batch, behind TextInputs.
enum ParseInputs : size_t {
  kBoundOffsets = kReadSamples + 1,  ///< offsets of bounds
  kCellOffsets,                      ///< offsets of cells
  kBefore,                           ///< int32 [bounds], the token row before a bound
  kBehind,                           ///< int32 [bounds], the token row behind it
  kGold,                             ///< int32 [cells]: 1 for a constituent of the text's tree
};

std::shared_ptr<const BatchLayout> parse_layout();

Leaves find_leaves(std::span<const trees::WordPlace> words, const text::Encoding& encoding);

/// A tokenizer as a parser uses it. A raw sample is a text, whose words are found, or a text and as
/// its pair the tree over it in brackets, whose leaves are the words. A stored sample has the marks
/// of data/tree_marks.h.
class ParseProcessor : public TextProcessor {
 public:
  ParseProcessor(text::Tokenizer tokenizer, Origin origin, const TextLimits& limits,
                 int64_t max_length, const std::string& model);

  int64_t unit_bytes() const override { return TextProcessor::unit_bytes() + kTreeMarks; }
  Hash128 hash() const override;
  bool reads_ids() const override { return false; }
  void encode(std::span<const RawSample> raw, ThreadPool& pool,
              std::vector<EncodedSample>& out) const override;
  void append(std::span<const std::byte> sample, int64_t number, Batch& batch) const override;

  /// Gives the leaves of a text with these words, as a sample of it has them.
  Leaves leaves_of(std::string_view text, std::span<const trees::WordPlace> words) const;
  /// Gives a stored sample's constituents over its leaves, in no order, without the whole.
  static std::vector<std::pair<int32_t, int32_t>> constituents(std::span<const std::byte> sample) {
    return marked_constituents(sample);
  }
  /// Gives the number of a stored sample's leaves.
  static int64_t leaves(std::span<const std::byte> sample) {
    return std::ssize(leaf_tokens(sample));
  }

 protected:
  /// Makes a processor of texts with more to them than words.
  ParseProcessor(std::shared_ptr<const BatchLayout> layout, text::Tokenizer tokenizer,
                 Origin origin, const TextLimits& limits, int64_t max_length,
                 const std::string& model)
      : TextProcessor(std::move(layout), std::move(tokenizer), std::move(origin), limits,
                      max_length, model) {}
  /// Appends a sample's tokens and words, with room for `more` rows of the layout's further axes.
  void append_words(std::span<const std::byte> sample, int64_t number, Batch& batch,
                    std::span<const int64_t> more) const;

 private:
  text::Encoding encode_text(std::string_view text) const;
  /// Writes a sample's marks.
  void mark(const RawSample& raw, EncodedSample& sample) const;
};

}  // namespace hone::data
