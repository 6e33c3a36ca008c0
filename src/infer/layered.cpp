#include "infer/layered.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace hone::infer {
namespace {

size_t row_bytes(Value value) { return static_cast<size_t>(value.width) * dtype_size(value.dtype); }

/// The slot of the matrix that a step multiplies by; -1: none.
int32_t matrix_of(const Step& step, const models::Encoder& encoder) {
  if (!step.weight.present()) return -1;
  const nn::Parameter& parameter =
      encoder.parameters().list()[static_cast<size_t>(step.weight.slot)];
  return parameter.kind == nn::ParameterKind::matrix ? step.weight.slot : -1;
}

}  // namespace

Layered::Layered(const models::Encoder& encoder, const models::OutputOptions& output,
                 std::span<const void* const> weights, ThreadPool& pool)
    : encoder_(encoder), parts_(encoder.record_layers(output)) {
  executions_.reserve(parts_.size());
  for (const models::LayerForward& part : parts_) {
    executions_.emplace_back(part.plan, weights, pool, arena_);
  }
}

Layered::Layered(const models::Encoder& encoder, const models::OutputOptions& output,
                 StreamedWeights& weights, ThreadPool& pool)
    : Layered(encoder, output, weights.pointers(), pool) {
  streamed_ = &weights;
}

std::vector<int32_t> Layered::matrices() const {
  std::vector<int32_t> slots;
  for (const models::LayerForward& part : parts_) {
    for (const Step& step : part.plan.steps()) {
      const int32_t slot = matrix_of(step, encoder_);
      if (slot >= 0) slots.push_back(slot);
    }
  }
  return slots;
}

size_t Layered::bytes_for(const Extents& extents) const {
  size_t most = 0;
  for (const Execution& execution : executions_) {
    most = std::max(most, execution.bytes_for(extents));
  }
  const Value x = parts_.front().output;
  return most + static_cast<size_t>(extents[x.rows]) * row_bytes(x);
}

void Layered::run_part(size_t i, const models::Batch& batch) {
  Execution& execution = executions_[i];
  execution.resize(batch.extents());
  batch.bind(parts_[i].inputs, execution);
  if (i > 0) execution.bind(parts_[i].input, x_.data());
  if (streamed_) {
    run_streamed(i);
  } else {
    execution.run();
  }
}

void Layered::run_streamed(size_t i) {
  const std::vector<Step>& steps = parts_[i].plan.steps();
  for (size_t at = 0; at < steps.size(); ++at) {
    const int32_t slot = matrix_of(steps[at], encoder_);
    if (slot >= 0) streamed_->acquire(slot);
    executions_[i].run(at, at + 1);
    if (slot >= 0) streamed_->release(slot);
  }
}

void Layered::keep_rows(const models::LayerForward& part, const models::Batch& batch) {
  const auto* rows =
      executions_[static_cast<size_t>(&part - parts_.data())].output<std::byte>(part.output);
  x_.resize(static_cast<size_t>(batch.tokens()) * row_bytes(part.output));
  std::memcpy(x_.data(), rows, x_.size());
}

void Layered::drop(const std::vector<bool>& leave, models::Batch& batch) {
  const size_t row = x_.size() / static_cast<size_t>(batch.tokens());
  std::vector<int64_t> kept;
  std::byte* to = x_.data();
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    if (leave[static_cast<size_t>(i)]) continue;
    const std::span<const int32_t> ids = batch.ids(i);
    const std::byte* from = x_.data() + static_cast<size_t>(batch.first_token(i)) * row;
    std::memmove(to, from, ids.size() * row);
    to += ids.size() * row;
    kept.push_back(i);
  }
  x_.resize(static_cast<size_t>(to - x_.data()));
  batch = batch.subset(kept);
  for (int64_t& place : kept) place = sequences_[static_cast<size_t>(place)];
  sequences_ = std::move(kept);
}

void Layered::run(const models::Batch& given, const Hooks& hooks) {
  models::Batch batch = given;
  sequences_.resize(static_cast<size_t>(batch.sequences()));
  std::iota(sequences_.begin(), sequences_.end(), int64_t{0});
  std::vector<bool> leave;
  if (streamed_) streamed_->begin(batch);
  for (size_t i = 0; i < parts_.size() && !sequences_.empty(); ++i) {
    run_part(i, batch);
    const models::LayerForward& part = parts_[i];
    if (i + 1 == parts_.size()) break;
    keep_rows(part, batch);
    if (!part.logits || !hooks.decide) continue;
    leave.assign(sequences_.size(), false);
    hooks.decide(i, sequences_, executions_[i].output<float>(*part.logits), leave);
    if (std::find(leave.begin(), leave.end(), true) != leave.end()) drop(leave, batch);
  }
  if (streamed_) streamed_->finish();
  if (sequences_.empty() || !hooks.finish) return;
  const Value last = parts_.back().output;
  const auto* rows = executions_.back().output<float>(last);
  for (size_t i = 0; i < sequences_.size(); ++i) {
    const auto width = static_cast<size_t>(last.width);
    hooks.finish(sequences_[i], {rows + i * width, width});
  }
}

}  // namespace hone::infer
