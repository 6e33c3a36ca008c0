#pragma once

#include <memory>
#include <string>
#include <vector>

#include "infer/session.h"
#include "infer/text_explainer.h"
#include "models/explainer.h"

namespace hone::infer {

struct SelfExplainerOptions {
  int64_t ablate = 0;     ///< phrases of a text without which it is answered again, the best first
  int64_t concepts = -1;  ///< most concepts that are told; -1: all that were retrieved
  int64_t phrases = -1;   ///< most phrases that are told, the best first; -1: all
};

/// Explains by the model itself, within one forward pass: its phrases' and its concepts' shares of
/// the answer's logit, which with the label's own add up to it. A model that is not self-explaining
/// is a usage error.
class SelfExplainer : public TextExplainer {
 public:
  /// The session's output is logits. Without its concepts it gives none.
  SelfExplainer(const std::string& model, const SessionOptions& session,
                const SelfExplainerOptions& options);

  std::vector<explain::Explanation> explain(std::span<const std::string_view> texts) override;
  const models::ModelConfig& config() const override { return session_.config(); }
  int64_t max_tokens() const override { return session_.max_units(); }

  /// Sets what is told of the texts that are explained from now on.
  void set_options(const SelfExplainerOptions& options) { options_ = options; }
  /// Gives the trees that the model finds itself; empty for texts without words.
  std::vector<trees::Tree> trees(std::span<const std::string_view> texts);
  /// Gives the vectors by which texts retrieve their concepts, fp32 [texts, hidden].
  std::vector<float> sentences(std::span<const std::string_view> texts);
  Session& session() { return session_; }
  models::Explainer& model() { return *model_; }
  const data::ExplainProcessor& processor() const { return processor_; }

 private:
  struct Text;
  class Outputs;
  struct Values;
  /// Calls `take` with each text, and its number in `texts`.
  template <typename Take>
  void run(std::span<const std::string_view> texts, const Take& take);
  Text text_of(std::string_view raw, const data::EncodedSample& sample) const;
  explain::Explanation explanation_of(const Text& text, const Values& values) const;
  void add_phrases(const Text& text, const Values& values, explain::Explanation& out) const;
  void add_concepts(const Values& values, explain::Explanation& out) const;
  void ablate(std::span<const Text> texts, std::vector<explain::Explanation>& explanations);

  SelfExplainerOptions options_;
  Session session_;
  models::Explainer* model_;
  const data::ExplainProcessor& processor_;
  models::Pass pass_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace hone::infer
