#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "ops/loss.h"
#include "plan/runner.h"

namespace hone::models {

struct NamedValue {
  std::string name;
  Value value;
};

/// A recorded pass over a batch: what it computes, and the values by which others reach into it.
struct Pass {
  std::shared_ptr<Plan> plan = std::make_shared<Plan>();
  std::vector<Value> inputs;  ///< lie in the order of the batches' layout
  Value output;               ///< fp32, what was asked for; a training step's is the answer
  std::vector<NamedValue> outputs = {};  ///< what it gives beside the output

  /// A training step has random, int64 [1, 2], seed and step; scale, fp64 [1, 2] as in
  /// ops::LossInputs; and labels.
  Value random;
  Value scale;
  Value labels;
  /// Holds the logits of a model that teaches, fp32 [samples, labels].
  std::optional<Value> teacher = {};
  /// A training step has losses: fp64 [1, 1] each, the batch's share of the mean of each loss.
  std::vector<NamedValue> losses = {};
  std::vector<bool> shadows = {};    ///< by slot: read in another dtype than it is kept in
  std::vector<bool> set_slots = {};  ///< by slot: its gradient is set (=), not added to
  /// The steps before the first loss; those behind are the losses and the backward pass.
  size_t forward_steps = 0;

  /// Binds a batch's arrays, not its labels.
  void bind(const data::Batch& batch, Runner& runner) const;
};

/// Declares the inputs of a layout in a pass' plan.
void declare_inputs(const data::BatchLayout& layout, Pass& pass);

/// Gives the inputs of a training step's loss of some logits. Where another model teaches, its
/// logits become an input of the pass.
ops::LossInputs loss_inputs(Value logits, const ops::LossOptions& loss, Pass& step);

/// Declares what a training step takes beside its samples: a label for each of `rows`, as the loss
/// reads it, and the losses' scale. The step has its output.
void declare_labels(const ops::LossOptions& loss, Axis rows, Pass& step);

/// Ends a training step behind its forward pass: records its losses, which `add` puts into the
/// step, then the backward pass. Activations are `dtype`.
void record_losses(Tape& tape, DType dtype, Pass& step, const std::function<void()>& add);

/// One of the parts of a forward pass that is cut, so that samples may leave between them, and
/// weights come and go.
struct Part : Pass {
  Value input;                ///< what the part before gave, to be bound; on a GPU resident
  std::optional<Value> exit;  ///< fp32 [samples, exit_width()]: an answer that may do
  Value carried;              ///< what goes from a SplitPart's first half to its second
};

/// A part with an exit in two, where its samples may leave in between: what the exit reads is a
/// fraction of a part.
struct SplitPart {
  Part exit_part;  ///< gives `carried` and `exit`; no output
  Part remainder;  ///< takes `carried`
};

}  // namespace hone::models
