#include "autograd/tape.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hone {
namespace {

/// The step that wrote `value`, which a step of the plan did.
const Step& maker(const Plan& plan, Value value) {
  const auto writes = [&](const Step& step) {
    return std::any_of(step.writes.begin(), step.writes.end(),
                       [&](Value written) { return written.id == value.id; });
  };
  return *std::find_if(plan.steps().rbegin(), plan.steps().rend(), writes);
}

}  // namespace

Tape::State& Tape::state(Value value) {
  const auto at = static_cast<size_t>(value.id);
  if (at >= states_.size()) states_.resize(at + 1);
  return states_[at];
}

bool Tape::trainable(const Weight& weight) const {
  return training_ && weight.present() && trainable_[static_cast<size_t>(weight.slot)];
}

Weight Tape::in_dtype(Weight weight, DType dtype) {
  if (!training_ || weight.dtype != DType::f32 || dtype == DType::f32) return weight;
  shadows_[static_cast<size_t>(weight.slot)] = true;
  weight.dtype = dtype;
  return weight;
}

bool Tape::needs_gradient(Value value) const {
  const auto at = static_cast<size_t>(value.id);
  return at < states_.size() && states_[at].needs_gradient;
}

void Tape::on_backward(Value output, std::function<void()> emit) {
  entries_.push_back({output, plan_.scope(), std::move(emit)});
  state(output).needs_gradient = true;
}

void Tape::recompute(Value output, std::function<Value()> emit) {
  state(output).recompute = std::move(emit);
}

Value Tape::saved(Value value) {
  const std::function<Value()> emit = state(value).recompute;
  if (!emit) return value;
  if (!state(value).restored) {
    const Value copy = emit();  // may record more values, so the state is looked up again
    state(value).restored = copy;
  }
  return *state(value).restored;
}

std::optional<Value> Tape::quantized(Value value) const {
  const auto at = static_cast<size_t>(value.id);
  return at < states_.size() ? states_[at].quantized : std::nullopt;
}

void Tape::set_quantized(Value value, Value bytes) { state(value).quantized = bytes; }

std::optional<Value> Tape::gradient(Value value) const {
  const auto at = static_cast<size_t>(value.id);
  return at < states_.size() ? states_[at].gradient : std::nullopt;
}

void Tape::set_gradient(Value value, Value gradient) {
  if (gradient.width != value.width || gradient.rows != value.rows) {
    fail(ErrorKind::internal, "a gradient of another shape than its value");
  }
  state(value).gradient = gradient;
}

Value Tape::checkpoint(Value x, std::function<Value(Value)> segment) {
  const size_t count = entries_.size();
  const Value y = segment(x);
  if (entries_.size() == count) return y;
  entries_.resize(count);
  on_backward(y, [this, x, y, segment = std::move(segment)] { emit_again(x, y, segment); });
  return y;
}

void Tape::emit_again(Value x, Value y, const std::function<Value(Value)>& segment) {
  const size_t count = entries_.size();
  const std::vector<Value> kept = maker(plan_, y).writes;
  const Value input = saved(x);
  state(input).needs_gradient = needs_gradient(x);
  state(input).gradient = gradient(x);
  const Value copy = segment(input);
  const std::vector<Value>& again = maker(plan_, copy).writes;
  for (size_t i = 0; i < kept.size(); ++i) plan_.alias(again[i], kept[i]);
  set_gradient(copy, *gradient(y));
  backward_to(count);
  state(x).gradient = gradient(input);
}

void Tape::backward() { backward_to(0); }

void Tape::backward_to(size_t count) {
  while (entries_.size() > count) {
    const Entry entry = std::move(entries_.back());
    entries_.pop_back();
    plan_.set_scope(entry.scope);
    if (gradient(entry.output)) entry.emit();
  }
}

}  // namespace hone
