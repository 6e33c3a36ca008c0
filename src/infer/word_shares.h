#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "infer/integrated_gradients.h"
#include "infer/text_explainer.h"

namespace hone::infer {

/// Makes an explanation of what a text's tokens gave: its words, split as a treebank does, each
/// with the sum of its tokens, those that gave most first. A token that is in two words counts for
/// the one that has more of it. Words behind the cut of a text that is too long are not listed.
explain::Explanation explanation_of(const models::ModelConfig& config, std::string_view text,
                                    const TokenShares& tokens);

/// Explains by integrated gradients.
class GradientExplainer : public TextExplainer {
 public:
  GradientExplainer(const std::string& model, ThreadPool& pool,
                    const IntegratedGradientsOptions& options)
      : gradients_(model, pool, options) {}

  std::vector<explain::Explanation> explain(std::span<const std::string_view> texts) override;
  const models::ModelConfig& config() const override { return gradients_.config(); }
  int64_t max_tokens() const override { return gradients_.processor().max_units(); }
  /// Sets the points of the path for the texts that are explained from now on.
  void set_steps(int64_t steps) { gradients_.set_steps(steps); }
  /// Gives how many of the texts so far have shares whose sum is more than a twentieth off the
  /// difference that they explain: more steps would help.
  int64_t inexact() const { return inexact_; }

 private:
  IntegratedGradients gradients_;
  int64_t inexact_ = 0;
};

}  // namespace hone::infer
