#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <typeindex>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace hone {

/// Holds what ops of one kind tell each other through a tape, about a value or about the whole
/// recording.
class Annotation {
 public:
  virtual ~Annotation() = default;
  /// Continues an annotation where a checkpointed segment is recorded once more: this one belongs
  /// to the new value, and goes on with what the old one has been told meanwhile.
  virtual void continue_from(Annotation& /*old*/) {}
};

/// Records a plan's forward steps and, for training, emits its backward steps behind them into the
/// same list. Knows no op: ops hand it closures. The tape lives while a plan is recorded and is
/// gone when the plan runs.
///
/// An op adds its forward step to plan(). For training it also says with on_backward() how its
/// gradient is emitted, and, where its output is cheap to compute again, says so with
/// recompute(): memory then holds its input alone until the backward pass.
class Tape {
 public:
  /// Records for inference: nothing is kept for a backward pass.
  explicit Tape(Plan& plan) : plan_(plan) {}
  /// Records for training; `trainable` says of each weight slot whether it gets a gradient.
  Tape(Plan& plan, std::vector<bool> trainable)
      : plan_(plan),
        training_(true),
        trainable_(std::move(trainable)),
        shadows_(trainable_.size()) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Plan& plan() { return plan_; }
  /// Says whether a GPU's steps are to be emitted.
  bool gpu() const { return plan_.gpu(); }
  bool training() const { return training_; }
  bool trainable(const Weight& weight) const;
  /// Gives, for mixed precision, the slot as a product over values of `dtype` reads it. A weight
  /// kept in fp32 has a shadow in the other dtypes, which from now on is listed in shadows().
  Weight in_dtype(Weight weight, DType dtype);
  /// Says, by slot, whether the plan reads its shadow.
  const std::vector<bool>& shadows() const { return shadows_; }
  /// Says whether a gradient of `value` leads to a trainable weight.
  bool needs_gradient(Value value) const;

  /// Registers how the gradient of `output` is propagated: backward() calls `emit`, last registered
  /// first, if something contributed to that gradient. `output` needs a gradient from now on.
  void on_backward(Value output, std::function<void()> emit);
  /// Registers an `emit` that adds steps which compute `output` once more and returns the new
  /// value.
  void recompute(Value output, std::function<Value()> emit);
  /// Gives a backward emitter the forward value that it reads: the value itself, or a copy of it,
  /// emitted once for all readers, where it can be recomputed.
  Value saved(Value value);

  /// Records y = segment(x) with activation checkpointing: until the backward pass memory holds x
  /// and what the step that made y wrote; the other steps are emitted again there, with the same
  /// bits. `segment` is called twice, must record the same steps over what it is handed, and reads
  /// nothing else that a step of this plan made.
  Value checkpoint(Value x, std::function<Value(Value)> segment);

  /// Gives the value's annotation of type T, made at the first call. Ops use it to tell one another
  /// what the tape need not know: a quantised form, a fused backward step.
  template <typename T>
  T& annotate(Value value) {
    std::unique_ptr<Annotation>& place = state(value).annotations[typeid(T)];
    if (!place) place = std::make_unique<T>();
    return static_cast<T&>(*place);
  }
  /// Gives the value's annotation of type T where there is one, else null.
  template <typename T>
  T* annotation(Value value) {
    auto& all = state(value).annotations;
    const auto found = all.find(typeid(T));
    return found == all.end() ? nullptr : static_cast<T*>(found->second.get());
  }
  /// Gives the recording's own annotation of type T, made at the first call.
  template <typename T>
  T& shared() {
    std::unique_ptr<Annotation>& place = shared_[typeid(T)];
    if (!place) place = std::make_unique<T>();
    return static_cast<T&>(*place);
  }
  /// Has `finish` called when backward() has emitted all else.
  void at_end(std::function<void()> finish) { at_end_.push_back(std::move(finish)); }

  /// Gives the gradient so far; empty where nothing contributed.
  std::optional<Value> gradient(Value value) const;
  /// Makes `gradient` the gradient of `value` (=), replacing what there was: an op that adds to one
  /// reads it first. The loss sets that of the logits.
  void set_gradient(Value value, Value gradient);

  /// Emits all backward steps.
  void backward();

  /// Says, for steps that add in place, whether a backward step yet to come reads the gradient of
  /// `value` as that of another value too.
  bool gradient_is_shared(Value value) const;

  /// Makes the first step that gives a matrix's or a table's gradient set it (=), from now on.
  void set_gradients() { sets_ = true; }
  /// Says whether the step being emitted is the one that sets the gradient, which it then declares
  /// in Step::sets; asked once for each step.
  bool sets_gradient(const Weight& weight);
  /// Says, by slot, whether the plan sets the whole gradient.
  const std::vector<bool>& set_slots() const { return set_slots_; }
  /// Gives the weights that get a gradient, for Step::gradients.
  std::vector<Weight> trained(std::initializer_list<Weight> weights) const;

 private:
  struct Entry {
    Value output;
    std::string scope;
    std::function<void()> emit;
  };
  struct State {
    bool needs_gradient = false;
    std::optional<Value> gradient;
    std::function<Value()> recompute;
    std::optional<Value> restored;
    std::map<std::type_index, std::unique_ptr<Annotation>> annotations;
  };
  State& state(Value value);
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
  std::map<std::type_index, std::unique_ptr<Annotation>> shared_;
  std::vector<std::function<void()>> at_end_;
};

}  // namespace hone
