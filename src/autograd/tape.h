#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/row_sums.h"
#include "plan/plan.h"

namespace hone {

/// Records a plan's forward steps and, for training, emits its backward steps behind them into the
/// same list. Knows no op: ops hand it closures. The tape lives while a plan is recorded and is
/// gone when the plan runs.
///
/// An op adds its forward step to plan(). For training it also says with on_backward() how its
/// gradient is emitted, and, where its output is cheap to compute again, says so with
/// recompute(): memory then holds its input alone until the backward pass.
class Tape {
 public:
  /// For inference: nothing is kept for a backward pass.
  explicit Tape(Plan& plan) : plan_(plan) {}
  /// For training; `trainable` says of each weight slot whether it gets a gradient.
  Tape(Plan& plan, std::vector<bool> trainable)
      : plan_(plan),
        training_(true),
        trainable_(std::move(trainable)),
        shadows_(trainable_.size()) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Plan& plan() { return plan_; }
  /// Whether a GPU's steps are to be emitted.
  bool gpu() const { return plan_.gpu(); }
  bool training() const { return training_; }
  bool trainable(const Weight& weight) const;
  /// Mixed precision: the slot as a product over values of `dtype` reads it. A weight kept in fp32
  /// has a shadow in the other dtypes, which from now on is listed in shadows().
  Weight in_dtype(Weight weight, DType dtype);
  /// By slot, whether the plan reads its shadow.
  const std::vector<bool>& shadows() const { return shadows_; }
  /// Whether a gradient of `value` leads to a trainable weight.
  bool needs_gradient(Value value) const;

  /// `emit` is called by backward(), last registered first, if something contributed to the
  /// gradient of `output`. From now on `output` needs a gradient.
  void on_backward(Value output, std::function<void()> emit);
  /// `emit` adds steps that compute `output` once more and returns the new value.
  void recompute(Value output, std::function<Value()> emit);
  /// For a backward emitter that reads a forward value: the value itself, or a copy of it, emitted
  /// once for all readers, where it can be recomputed.
  Value saved(Value value);

  /// Activation checkpointing: y = segment(x), of which memory holds, until the backward pass, x
  /// and what the step that made y wrote; the other steps are emitted again there, with the same
  /// bits. `segment` is called twice, must record the same steps over what it is handed, and reads
  /// nothing else that a step of this plan made.
  Value checkpoint(Value x, std::function<Value(Value)> segment);

  /// Another form of a value, its bytes with a scale a row, emitted once for all its readers.
  std::optional<Value> quantized(Value value) const;
  void set_quantized(Value value, Value bytes);

  /// The gradient so far; empty where nothing contributed.
  std::optional<Value> gradient(Value value) const;
  /// Makes `gradient` the gradient of `value`, replacing what there was: who adds to one reads it
  /// first. The loss sets that of the logits.
  void set_gradient(Value value, Value gradient);

  /// Emits all backward steps.
  void backward();

  /// On a GPU, for steps that add in place: whether a backward step yet to come reads the gradient
  /// of `value` as that of another value too.
  bool gradient_is_shared(Value value) const;
  /// On a GPU: `emit` gives the gradient of what y was made of, from the gradient dz of a product
  /// z = y weight^T that read y, without that of y in between. Where `again`, it makes y once more
  /// on the way. Returns where that goes; nothing where it cannot.
  using Through = std::function<std::optional<Value>(Value dz, const Weight& weight, bool again)>;
  void set_through(Value y, Through emit) { state(y).through = std::move(emit); }
  /// Empty where there is none, or not one step alone has read y.
  Through through(Value y);
  /// On a GPU: the backward pass of what made y can make y once more on its way, so that memory
  /// need not hold it until then. What is made again may differ from y by the rounding of what it
  /// is made of: it serves gradients of weights alone.
  void can_make_again(Value y) { state(y).made_again = true; }
  /// Calls `emit` with x as the backward pass has it: at once, or where x is made again, then.
  void when_there(Value x, std::function<void(Value)> emit);
  /// For the one who can, when all readers of y have been emitted: whether anyone waits.
  bool is_awaited(Value y) { return !state(y).waiting.empty(); }
  /// And the answer: from the last step on `copy` holds y.
  void made_again(Value y, Value copy);
  /// On a GPU: from now on the first step that gives a matrix's or a table's gradient sets it (=).
  void set_gradients() { sets_ = true; }
  /// Whether this is that step, which then says so in Step::sets; ask once for each.
  bool takes_gradient(const Weight& weight);
  /// By slot, whether the plan sets the whole gradient.
  const std::vector<bool>& set_slots() const { return set_slots_; }
  /// On a GPU: `partials` will hold sums over rows in parts as `sums` says when the plan runs. They
  /// are added up with others, in one step for many.
  void add_up(Value partials, std::shared_ptr<kernels::cuda::RowSums> sums);

 private:
  struct Entry {
    Value output;
    std::string scope;
    std::function<void()> emit;
  };
  struct Waiting {
    std::string scope;
    std::function<void(Value)> emit;
  };
  struct State {
    bool needs_gradient = false;
    std::optional<Value> gradient;
    std::function<Value()> recompute;
    std::optional<Value> restored;
    std::optional<Value> quantized;
    Through through;
    bool made_again = false;
    std::vector<Waiting> waiting;
  };
  State& state(Value value);
  void emit_sums();
  /// Emits the backward steps of all entries but the first `count`.
  void backward_to(size_t count);
  void emit_again(Value x, Value y, const std::function<Value(Value)>& segment);

  Plan& plan_;
  bool training_ = false;
  std::vector<bool> trainable_;
  std::vector<bool> shadows_;
  std::vector<Entry> entries_;
  std::vector<State> states_;  ///< by value
  bool sets_ = false;
  std::vector<Weight> taken_;
  std::vector<bool> set_slots_;
  std::vector<std::pair<Value, std::shared_ptr<kernels::cuda::RowSums>>> sums_;
};

}  // namespace hone
