#pragma once

#include <string_view>

#include "data/parse_processor.h"
#include "models/encoder.h"
#include "nn/span_scorer.h"

namespace hone::models {

/// Says in a config.json that an encoder's head is a parser's.
inline constexpr const char* kParserField = "hone_parser";
/// Begins the names of the head's weights.
inline constexpr std::string_view kParserModule = "parser";

/// A span is one more constituent where the sum over trees gives it more than this probability;
/// below a half, because F1 forgives a constituent too many sooner than one too few.
inline constexpr double kConstituentProbability = 0.4;

bool is_parser_weight(std::string_view name);
bool is_parser(const ModelConfig& config);
/// Makes a model with this config and this config.json a parser, or one no longer. For a family
/// that has no parser it is an error.
void set_parser(bool parses, ModelConfig& config, Json& json);

/// An encoder that scores the spans of a text's words as constituents (Output::logits: fp32
/// [cells, 1]) and is trained by a loss over whole trees.
class Parser : public Encoder {
 public:
  Parser(EncoderConfig config, const MakeOptions& options);

  bool has_head() const override { return scorer_.has_value(); }
  const data::BatchLayout& layout() const override { return *data::parse_layout(); }
  Pass record(const OutputOptions& request) const override;
  Pass record(const TrainingRequest& request) const override;
  std::vector<Part> record_parts(const OutputOptions& request) const override;
  std::vector<SplitPart> record_split_parts() const override { return {}; }

 private:
  /// Begins a pass, and declares what a batch has beside its tokens.
  ops::SpanInputs begin_spans(Pass& pass, bool pads_sequences) const;
  Value scores(Tape& tape, Value rows, const ops::SpanInputs& spans) const;

  std::optional<nn::SpanScorer> scorer_;
};

/// Declares the axes of words and spans. Bounds are rounded to the most that the bucket's tokens
/// can have, and spans coarsely, so that batches of about as many tokens share a bucket.
void count_spans(Axes& axes);

/// Gives the constituents of a text of so many words, in a tree's order and with the whole, from
/// the scores of its spans: those of the tree that has the most probability above
/// kConstituentProbability.
std::vector<trees::Constituent> parse(std::span<const float> scores, int64_t words);

/// Gives -log p of the tree with these constituents beside the whole.
double tree_loss(std::span<const float> scores, int64_t words,
                 const std::vector<std::pair<int32_t, int32_t>>& gold);

}  // namespace hone::models
