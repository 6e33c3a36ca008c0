#include "infer/layered.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "plan/gpu_runner.h"

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

/// Moves to `to` the rows of the sequences that do not leave; `from` may be there already.
void keep_rows(const std::byte* from, size_t row, const models::Batch& batch,
               const std::vector<bool>& leave, std::vector<std::byte>& to) {
  const bool inside = from == to.data();
  if (!inside) to.resize(static_cast<size_t>(batch.tokens()) * row);
  std::byte* at = to.data();
  const auto move = [&](size_t first, size_t count) {
    std::memmove(at, from + first * row, count * row);
    at += count * row;
  };
  if (leave.empty()) {
    move(0, static_cast<size_t>(batch.tokens()));
  } else {
    for (size_t i = 0; i < leave.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      if (!leave[i]) move(static_cast<size_t>(batch.first_token(place)), batch.ids(place).size());
    }
  }
  to.resize(static_cast<size_t>(at - to.data()));
}

/// By slot: what any part reads as a shadow.
std::vector<bool> shadows_of(const std::vector<models::LayerForward>& parts) {
  std::vector<bool> all;
  for (const models::LayerForward& part : parts) {
    all.resize(std::max(all.size(), part.shadows.size()));
    for (size_t slot = 0; slot < part.shadows.size(); ++slot) {
      if (part.shadows[slot]) all[slot] = true;
    }
  }
  return all;
}

}  // namespace

Layered::Layered(models::Encoder& encoder, const models::OutputOptions& output, ThreadPool& pool)
    : encoder_(encoder), parts_(encoder.record_layers(output)) {
  open(encoder.weights_for(shadows_of(parts_)), pool,
       output.exits && !encoder.parameters().on_gpu());
}

// Weights that come for the first part of a layer would have to come again for the second.
Layered::Layered(const models::Encoder& encoder, const models::OutputOptions& output,
                 StreamedWeights& weights, ThreadPool& pool)
    : encoder_(encoder), streamed_(&weights), parts_(encoder.record_layers(output)) {
  open(weights.pointers(), pool, false);
}

void Layered::open(const WeightArrays& weights, ThreadPool& pool, bool splits) {
  executions_.reserve(parts_.size());
  for (const models::LayerForward& part : parts_) {
    executions_.emplace_back(part.plan, weights, pool, arena_);
  }
  if (!splits) return;
  split_ = encoder_.record_split_layers();
  for (const models::SplitLayer& layer : split_) {
    looks_.emplace_back(layer.look.plan, weights, pool, arena_);
    rests_.emplace_back(layer.rest.plan, weights, pool, arena_);
  }
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

void Layered::run_part(const models::LayerForward& part, Execution& execution,
                       const models::Batch& batch) {
  execution.resize(batch.extents());
  batch.bind(part.inputs, execution);
  if (part.input.id >= 0) {
    execution.bind(part.input, execution.gpu() ? gpu_x_.data() : x_.data());
  }
  if (streamed_) {
    run_streamed(part, execution);
  } else {
    execution.run();
  }
}

void Layered::run_streamed(const models::LayerForward& part, Execution& execution) {
  const std::vector<Step>& steps = part.plan.steps();
  for (size_t at = 0; at < steps.size(); ++at) {
    const int32_t slot = matrix_of(steps[at], encoder_);
    if (slot >= 0) streamed_->acquire(slot);
    execution.run(at, at + 1);
    if (slot >= 0) streamed_->release(slot);
  }
}

std::vector<bool> Layered::ask(size_t i, const float* logits, const Hooks& hooks) const {
  std::vector<bool> leave(sequences_.size(), false);
  hooks.decide(i, sequences_, logits, leave);
  if (std::find(leave.begin(), leave.end(), true) == leave.end()) leave.clear();
  return leave;
}

void Layered::shrink(const std::vector<bool>& leave, models::Batch& batch) {
  if (leave.empty()) return;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < leave.size(); ++i) {
    if (!leave[i]) kept.push_back(static_cast<int64_t>(i));
  }
  batch = batch.subset(kept);
  for (int64_t& place : kept) place = sequences_[static_cast<size_t>(place)];
  sequences_ = std::move(kept);
}

void Layered::run_whole(size_t i, models::Batch& batch, const Hooks& hooks) {
  const models::LayerForward& part = parts_[i];
  run_part(part, executions_[i], batch);
  if (i + 1 == parts_.size()) return;
  std::vector<bool> leave;
  if (part.logits && hooks.decide) {
    leave = ask(i, executions_[i].output<float>(*part.logits), hooks);
  }
  carry(i, leave, batch);
}

void Layered::carry(size_t i, const std::vector<bool>& leave, models::Batch& batch) {
  if (executions_[i].gpu()) return carry_on_gpu(i, leave, batch);
  const Value output = parts_[i].output;
  keep_rows(executions_[i].output<std::byte>(output), row_bytes(output), batch, leave, x_);
  shrink(leave, batch);
}

/// Before the next part is laid out, in whose memory the output may lie.
void Layered::carry_on_gpu(size_t i, const std::vector<bool>& leave, models::Batch& batch) {
  std::vector<int32_t> rows;
  for (int64_t sequence = 0; sequence < batch.sequences(); ++sequence) {
    if (!leave.empty() && leave[static_cast<size_t>(sequence)]) continue;
    const auto first = static_cast<int32_t>(batch.first_token(sequence));
    for (int32_t t = 0; t < std::ssize(batch.ids(sequence)); ++t) rows.push_back(first + t);
  }
  shrink(leave, batch);
  if (sequences_.empty()) return;
  GpuRunner& runner = *executions_[i].gpu();
  const Value output = parts_[i].output;
  rows.resize(static_cast<size_t>(runner.rounded(batch.extents())[output.rows]), -1);
  const auto grow = [](CudaBuffer& buffer, size_t bytes) {
    if (bytes <= buffer.size()) return;
    buffer = CudaBuffer();
    buffer = CudaBuffer(bytes);
  };
  grow(gpu_x_, rows.size() * row_bytes(output));
  grow(gpu_rows_, rows.size() * sizeof(int32_t));
  CudaStream& stream = cuda_stream();
  stream.copy(gpu_rows_.data(), rows.data(), rows.size() * sizeof(int32_t));
  cuda_check(kernels::cuda::kernel_api().gather_rows(
                 output.dtype, runner.address(output), output.width, gpu_rows_.as<int32_t>(),
                 std::ssize(rows), output.width, gpu_x_.data(), stream.handle()),
             "gather");
}

void Layered::run_split(size_t i, models::Batch& batch, const Hooks& hooks) {
  const models::SplitLayer& layer = split_[i - 1];
  run_part(layer.look, looks_[i - 1], batch);
  const std::vector<bool> leave = ask(i, looks_[i - 1].output<float>(*layer.look.logits), hooks);
  const Value kv = layer.look.key_values;
  keep_rows(looks_[i - 1].output<std::byte>(kv), row_bytes(kv), batch, leave, kv_);
  if (!leave.empty()) keep_rows(x_.data(), row_bytes(layer.rest.input), batch, leave, x_);
  shrink(leave, batch);
  if (sequences_.empty()) return;
  rests_[i - 1].bind(layer.rest.key_values, kv_.data());
  run_part(layer.rest, rests_[i - 1], batch);
  keep_rows(rests_[i - 1].output<std::byte>(layer.rest.output), row_bytes(layer.rest.output), batch,
            {}, x_);
}

void Layered::run(const models::Batch& given, const Hooks& hooks) {
  models::Batch batch = given;
  sequences_.resize(static_cast<size_t>(batch.sequences()));
  std::iota(sequences_.begin(), sequences_.end(), int64_t{0});
  if (streamed_) streamed_->begin(batch);
  for (size_t i = 0; i < parts_.size() && !sequences_.empty(); ++i) {
    const bool has_exit = i > 0 && i <= split_.size();
    if (has_exit && hooks.may_leave && hooks.may_leave(sequences_)) {
      run_split(i, batch, hooks);
    } else {
      run_whole(i, batch, hooks);
    }
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
