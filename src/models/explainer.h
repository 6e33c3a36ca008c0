#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "data/explain_processor.h"
#include "models/encoder.h"
#include "models/retrieve.h"
#include "nn/span_scorer.h"
#include "ops/concept_attention.h"
#include "ops/phrases.h"

namespace hone::models {

/// Holds the settings of a self-explaining head in a config.json.
inline constexpr const char* kExplainField = "hone_explain";
/// Begins the names of the head's weights.
inline constexpr std::string_view kExplainModule = "explain";

/// Weighs the loss over trees beside the classifier's.
inline constexpr double kTreeWeight = 0.1;

bool is_explain_weight(std::string_view name);
/// Gives the settings of a self-explaining model; null for others.
const ExplainSettings* explain_settings(const ModelConfig& config);
/// Reads the settings where the config.json has them. What contradicts itself is an error.
std::optional<ExplainSettings> read_explain_settings(const JsonFields& fields,
                                                     const EncoderConfig& config);
/// Makes a model with this config and this config.json a self-explaining one, or, where `settings`
/// is null, one no longer. The number of heads becomes the largest up to the settings' that divides
/// the width. For a family that has no such head it is an error.
void set_explainer(const ExplainSettings* settings, ModelConfig& config, Json& json);

/// The values of an answer and of what it was made of, beside the logits: see
/// Explainer::record_explained().
namespace explained {
inline constexpr const char* kSpans = "spans";  ///< int32 [phrases, 2], token rows of the batch
inline constexpr const char* kPhraseLogits = "phrase_logits";  ///< [phrases, labels]
inline constexpr const char* kLabelLogits = "label_logits";    ///< [texts, labels]
inline constexpr const char* kLocalLogits = "local_logits";    ///< [texts, labels], unweighed
inline constexpr const char* kGlobalLogits = "global_logits";  ///< [texts, labels], unweighed
inline constexpr const char* kFound = "found";                 ///< int32 [texts, neighbours]
inline constexpr const char* kSimilarity = "similarity";       ///< [texts, neighbours]
/// [texts * neighbours, labels], what each concept gave to the global logits
inline constexpr const char* kConceptLogits = "concept_logits";
inline constexpr const char* kSentence = "sentence";  ///< [texts, hidden], what retrieves
/// Gives one of them, by its name.
Value value(const Pass& pass, std::string_view name);
}  // namespace explained

/// A classifier whose logits are the sum of its family's own, of its phrases' and of those of
/// concepts that it retrieves (SelfExplain, Rajagopal et al., 2021), and which finds the phrases
/// itself.
///
/// Let u be what the head's first layer makes of the read row, without dropout: a phrase's logits
/// are linear(max(0, mean of its rows) - u), and the local ones their mean; the global ones are
/// linear(attention of u over u and the concepts nearest to it).
class Explainer : public Encoder {
 public:
  Explainer(EncoderConfig config, const MakeOptions& options);

  const data::BatchLayout& layout() const override { return *data::explain_layout(); }
  Pass record(const OutputOptions& request) const override;
  Pass record(const TrainingRequest& request) const override;
  std::vector<Part> record_parts(const OutputOptions& request) const override;
  std::vector<SplitPart> record_split_parts() const override { return {}; }
  /// Records what record() does for logits, with the same bits, and all outputs that explain them.
  Pass record_explained() const;
  /// Records u alone, [texts, hidden]: the vectors of concepts.
  Pass record_sentences() const;

  const ExplainSettings& settings() const { return *config().explains; }
  /// Has plans retrieve from these from now on, also those that were recorded before.
  void set_concepts(std::shared_ptr<const explain::Concepts> concepts) {
    slot_->set(std::move(concepts));
  }
  const explain::Concepts* concepts() const { return slot_->concepts(); }

 private:
  struct Head {
    nn::SpanScorer parser;
    nn::Linear local;
    nn::Linear query;
    nn::Linear key_value;
    nn::Linear context;
    nn::Linear global;
  };
  /// The values of a pass that its head reads.
  struct Inputs;
  struct Answer;

  void begin_explained(Pass& pass, bool pads_sequences) const;
  void begin_gradient(Pass& pass) const override { begin_explained(pass, false); }
  /// Phrases and concepts are held: which ones they are has no gradient.
  Value logits_of_rows(Tape& tape, Value rows, EmbeddingGradient& made) const override;
  Value spans_of(Tape& tape, Value rows, const Inputs& in) const;
  /// `found`, where it is present, has the concepts; they are retrieved otherwise.
  Answer answer(Tape& tape, Value rows, Value spans, const Inputs& in, bool is_training,
                std::optional<Value> found = {}) const;
  Pass record_answer(bool with_reasons) const;

  std::optional<Head> explain_;
  std::shared_ptr<ConceptSlot> slot_ = std::make_shared<ConceptSlot>();
};

}  // namespace hone::models
