#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "infer/layered.h"
#include "models/config.h"

namespace hone::infer {

/// What one sequence has seen so far of a model with exits, and whether it may leave: PABEE's and
/// DeeBERT's rules, by layer.
class ExitRule {
 public:
  ExitRule(const models::ExitSettings& settings, models::ProblemType problem)
      : settings_(settings), problem_(problem) {}

  /// The logits of the next layer's exit; true: they are the answer.
  bool leaves(std::span<const float> logits);
  /// Whether the next ones can be, whatever they are.
  bool may_leave() const;

 private:
  bool agrees(std::span<const float> logits) const;

  models::ExitSettings settings_;
  models::ProblemType problem_;
  std::vector<float> last_;
  int64_t agreed_ = 0;
};

/// Entropy of softmax(logits), in nats.
double entropy(std::span<const float> logits);

/// An answer, and how many layers it took.
struct ExitAnswer {
  std::vector<float> logits;
  int64_t layers = 0;
};

/// Runs a batch through a model with exits. On a processor a sequence's answer does not
/// depend on its company; on a GPU products of other numbers of rows may differ in the last bits.
class ExitPass {
 public:
  /// All must outlive this. `settings` in place of the config's own. On the encoder's device: see
  /// Layered.
  ExitPass(models::Encoder& encoder, const models::ExitSettings& settings, ThreadPool& pool);
  /// The same with weights that come and go.
  ExitPass(const models::Encoder& encoder, const models::ExitSettings& settings,
           StreamedWeights& weights, ThreadPool& pool);

  const models::ExitSettings& settings() const { return settings_; }
  /// What it runs; without hooks, all layers.
  Layered& layered() { return layered_; }
  void set(const models::ExitSettings& settings) { settings_ = settings; }

  /// `deadline` in seconds from now: 0 is none. Every sequence leaves at the last layer after which
  /// one more, by what layers have cost, would be too late; one layer runs in any case.
  std::vector<ExitAnswer> run(const models::Batch& batch, double deadline = 0);
  /// All exits' logits of each sequence, the last layer's too: [sequence][layer].
  std::vector<std::vector<std::vector<float>>> run_all(const models::Batch& batch);

 private:
  models::ExitSettings settings_;
  models::ProblemType problem_;
  size_t labels_;
  Layered layered_;
};

}  // namespace hone::infer
