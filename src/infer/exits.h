#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "infer/layerwise_forward.h"
#include "models/model_config.h"

namespace hone::infer {

/// Holds what one sequence has seen so far of a model with exits, and says whether it may leave:
/// the methods' rules, by layer.
class ExitRule {
 public:
  ExitRule(const models::ExitSettings& settings, ProblemType problem)
      : settings_(settings), problem_(problem) {}

  /// Takes what the next layer's exit gives; true: its logits are the answer.
  bool leaves(std::span<const float> logits);
  /// Says whether the next logits can be the answer, whatever they are.
  bool may_leave() const;

 private:
  bool agrees(std::span<const float> logits) const;

  models::ExitSettings settings_;
  ProblemType problem_;
  std::vector<float> last_;
  int64_t agreed_ = 0;
};

/// Computes the entropy of softmax(logits), in nats.
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
  /// Makes a pass on the encoder's device, with and without a plan for memory (see
  /// LayerwiseForward). All arguments must outlive this. `settings` take the place of the config's
  /// own.
  ExitPass(models::Model& model, const models::ExitSettings& settings, ThreadPool& pool,
           bool planned = true);
  /// Makes a pass with weights that come and go.
  ExitPass(const models::Model& model, const models::ExitSettings& settings,
           StreamedWeights& weights, ThreadPool& pool, bool planned = true);

  const models::ExitSettings& settings() const { return settings_; }
  /// Gives the forward pass that it runs; without hooks, all layers.
  LayerwiseForward& layerwise() { return layerwise_; }
  void set(const models::ExitSettings& settings) { settings_ = settings; }

  /// Runs a batch. `deadline` is in seconds from now: 0 is none. Every sequence leaves at the last
  /// layer after which one more, by what layers have cost, would be too late; one layer runs in any
  /// case.
  std::vector<ExitAnswer> run(const data::Batch& batch, double deadline = 0);
  /// Gives all exits' logits of each sequence, the last layer's too: [sequence][layer]. An adaptive
  /// exit's have the logit of being right behind them.
  std::vector<std::vector<std::vector<float>>> run_all(const data::Batch& batch);

 private:
  models::ExitSettings settings_;
  ProblemType problem_;
  size_t labels_;
  size_t width_;  ///< columns of an exit
  LayerwiseForward layerwise_;
};

}  // namespace hone::infer
