#pragma once

#include <memory>

#include "data/parse_processor.h"
#include "data/tree_file.h"

namespace hone::data {

/// The further axis of a batch of texts with phrases: places for them, two fewer than a text has
/// leaves, which is the most that a tree has beside the whole.
inline constexpr Axis kPhrases{7};

/// The further inputs of such a batch, behind ParseInputs.
enum ExplainInputs : size_t {
  kPhraseOffsets = kGold + 1,  ///< offsets of phrases
  kPhraseSpans,                ///< int32 [phrases, 2], token rows [begin, end); equal: no phrase
  kGiven,                      ///< int32 [sequences], 1 where the text's tree was given
};

std::shared_ptr<const BatchLayout> explain_layout();

/// A tokenizer as a self-explaining model uses it: a text's words are found, and its tree where it
/// has been given one. A stored sample is a parser's, which says whether its tree was given.
class ExplainProcessor : public ParseProcessor {
 public:
  ExplainProcessor(text::Tokenizer tokenizer, Origin origin, const TextLimits& limits,
                   int64_t max_length, const std::string& model)
      : ParseProcessor(explain_layout(), std::move(tokenizer), std::move(origin), limits,
                       max_length, model) {}

  /// Gives texts their trees from now on; a text without one has no tree. It is called before any
  /// is encoded.
  void set_trees(std::shared_ptr<const TreeBank> trees) { trees_ = std::move(trees); }
  /// Takes one of a training sample's phrases out of it, with this probability, anew in each epoch.
  void set_masking(double probability, uint64_t seed) {
    masking_ = probability;
    seed_ = seed;
  }
  const TreeBank* trees() const { return trees_.get(); }

  Hash128 hash() const override;
  void encode(std::span<const RawSample> raw, ThreadPool& pool,
              std::vector<EncodedSample>& out) const override {
    TextProcessor::encode(raw, pool, out);  // NOLINT(bugprone-parent-virtual-call): no trees
  }
  void append(std::span<const std::byte> sample, int64_t number, Batch& batch) const override;
  Mixed append_for_training(std::span<const std::byte> sample, int64_t number, const OtherSamples&,
                            Batch& batch) const override;

  /// Gives the phrases of a stored sample whose tree was given that were cut off; at most 255.
  static int64_t cut_phrases(std::span<const std::byte> sample);

 protected:
  void add_to(EncodedSample& sample, const RawSample& raw,
              const text::Encoding& encoding) const override;

 private:
  std::shared_ptr<const TreeBank> trees_;
  double masking_ = 0;
  uint64_t seed_ = 0;
};

/// Gives a stored sample without the tokens of leaves [begin, end), which are a phrase's: its other
/// phrases stay as far as they are phrases still.
std::vector<std::byte> without_leaves(std::span<const std::byte> sample, int32_t begin,
                                      int32_t end);

}  // namespace hone::data
