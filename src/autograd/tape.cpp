#include "autograd/tape.h"

#include <algorithm>
#include <iterator>
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
  if (!training_ && !gpu()) return weight;
  if (!weight.present() || weight.dtype != DType::f32 || dtype == DType::f32) return weight;
  const auto slot = static_cast<size_t>(weight.slot);
  if (slot >= shadows_.size()) shadows_.resize(slot + 1);
  shadows_[slot] = true;
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
  for (auto& [type, old] : state(y).annotations) {
    const auto found = state(copy).annotations.find(type);
    if (found != state(copy).annotations.end()) found->second->continue_from(*old);
  }
  backward_to(count);
  state(x).gradient = gradient(input);
}

void Tape::backward() {
  backward_to(0);
  for (size_t i = 0; i < at_end_.size(); ++i) at_end_[i]();
}

bool Tape::gradient_is_shared(Value value) const {
  const std::optional<Value> own = gradient(value);
  if (!own) return false;
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const std::optional<Value> other = gradient(entry.output);
    return entry.output.id != value.id && other && other->id == own->id;
  });
}

bool Tape::sets_gradient(const Weight& weight) {
  const auto overlaps = [&](const Weight& other) {
    return other.slot == weight.slot && other.offset < weight.offset + weight.rows * weight.width &&
           weight.offset < other.offset + other.rows * other.width;
  };
  if (!sets_ || std::any_of(taken_.begin(), taken_.end(), overlaps)) return false;
  taken_.push_back(weight);
  set_slots_.resize(trainable_.size());
  set_slots_[static_cast<size_t>(weight.slot)] = true;
  return true;
}

std::vector<Weight> Tape::trained(std::initializer_list<Weight> weights) const {
  std::vector<Weight> list;
  for (const Weight& weight : weights) {
    if (trainable(weight)) list.push_back(weight);
  }
  return list;
}

void Tape::backward_to(size_t count) {
  while (entries_.size() > count) {
    const Entry entry = std::move(entries_.back());
    entries_.pop_back();
    plan_.set_scope(entry.scope);
    if (gradient(entry.output)) entry.emit();
  }
}

}  // namespace hone
