#include "autograd/tape.h"

#include <utility>

#include "base/error.h"

namespace hone {

Tape::State& Tape::state(Value value) {
  const auto at = static_cast<size_t>(value.id);
  if (at >= states_.size()) states_.resize(at + 1);
  return states_[at];
}

bool Tape::trainable(const Weight& weight) const {
  return training_ && weight.present() && trainable_[static_cast<size_t>(weight.slot)];
}

bool Tape::needs_gradient(Value value) const {
  const auto at = static_cast<size_t>(value.id);
  return at < states_.size() && states_[at].needs_gradient;
}

void Tape::on_backward(Value output, std::function<void()> emit) {
  entries_.push_back({output, std::move(emit)});
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

void Tape::backward() {
  while (!entries_.empty()) {
    const Entry entry = std::move(entries_.back());
    entries_.pop_back();
    if (gradient(entry.output)) entry.emit();
  }
}

}  // namespace hone
