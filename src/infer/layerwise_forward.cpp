#include "infer/layerwise_forward.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "plan/cuda_executor.h"

namespace hone::infer {
namespace {

size_t row_bytes(Value value) { return static_cast<size_t>(value.width) * dtype_size(value.dtype); }

/// Lists the slots of the matrices that a step reads.
std::vector<int32_t> matrices_of(const Step& step, const models::Model& model) {
  std::vector<int32_t> slots;
  for (const Weight& weight : step.weights) {
    const nn::Parameter& parameter = model.parameters().list()[static_cast<size_t>(weight.slot)];
    if (parameter.kind == nn::ParameterKind::matrix) slots.push_back(weight.slot);
  }
  return slots;
}

/// Moves to `to` the rows of `value`, at `from`, of the samples that do not leave; `from` may be
/// there already.
void keep_rows(const std::byte* from, Value value, const data::Batch& batch,
               const std::vector<bool>& leave, std::vector<std::byte>& to) {
  const size_t row = row_bytes(value);
  const bool inside = from == to.data();
  if (!inside) to.resize(static_cast<size_t>(batch.rows(value.rows)) * row);
  std::byte* at = to.data();
  const auto move = [&](size_t first, size_t count) {
    std::memmove(at, from + first * row, count * row);
    at += count * row;
  };
  if (leave.empty()) {
    move(0, static_cast<size_t>(batch.rows(value.rows)));
  } else {
    for (size_t i = 0; i < leave.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      if (leave[i]) continue;
      move(static_cast<size_t>(batch.first(value.rows, place)),
           static_cast<size_t>(batch.rows(value.rows, place)));
    }
  }
  to.resize(static_cast<size_t>(at - to.data()));
}

/// Says, by slot, what any part reads as a shadow.
std::vector<bool> shadows_of(const std::vector<models::Part>& parts) {
  std::vector<bool> all;
  for (const models::Part& part : parts) {
    all.resize(std::max(all.size(), part.shadows.size()));
    for (size_t slot = 0; slot < part.shadows.size(); ++slot) {
      if (part.shadows[slot]) all[slot] = true;
    }
  }
  return all;
}

}  // namespace

LayerwiseForward::LayerwiseForward(models::Model& model, const models::OutputOptions& output,
                                   ThreadPool& pool, bool planned)
    : model_(model), parts_(model.record_parts(output)) {
  open(model.weights_for(shadows_of(parts_)), pool, output.exits, planned);
}

// A layer is not split here: weights that come for its first part would have to come again for the
// second.
LayerwiseForward::LayerwiseForward(const models::Model& model, const models::OutputOptions& output,
                                   StreamedWeights& weights, ThreadPool& pool, bool planned)
    : model_(model), streamed_(&weights), parts_(model.record_parts(output)) {
  open(weights.pointers(), pool, false, planned);
}

void LayerwiseForward::open(const WeightArrays& weights, ThreadPool& pool, bool splits,
                            bool planned) {
  const Runner::Options options{.arena = arena_, .planned = planned};
  runners_.reserve(parts_.size());
  for (const models::Part& part : parts_) {
    runners_.emplace_back(part.plan, weights, pool, options);
  }
  if (!splits) return;
  split_ = model_.record_split_parts();
  for (const models::SplitPart& layer : split_) {
    exit_parts_.emplace_back(layer.exit_part.plan, weights, pool, options);
    remainders_.emplace_back(layer.remainder.plan, weights, pool, options);
  }
}

std::vector<int32_t> LayerwiseForward::matrices() const {
  std::vector<int32_t> slots;
  for (const models::Part& part : parts_) {
    for (const Step& step : part.plan->steps()) {
      for (const int32_t slot : matrices_of(step, model_)) slots.push_back(slot);
    }
  }
  return slots;
}

void LayerwiseForward::set_sink(RunSink* sink) {
  for (auto* runners : {&runners_, &exit_parts_, &remainders_}) {
    for (Runner& runner : *runners) runner.set_sink(sink);
  }
}

size_t LayerwiseForward::bytes_for(const Extents& extents) const {
  size_t most = 0;
  for (const Runner& runner : runners_) {
    most = std::max(most, runner.bytes_for(extents));
  }
  const Value x = parts_.front().output;
  return most + static_cast<size_t>(extents[x.rows]) * row_bytes(x);
}

void LayerwiseForward::run_part(const models::Part& part, Runner& runner,
                                const data::Batch& batch) {
  runner.resize(batch.extents());
  part.bind(batch, runner);
  if (part.input.id >= 0) {
    runner.bind(part.input, runner.cuda() ? gpu_x_.data() : x_.data());
  }
  if (streamed_) {
    run_streamed(part, runner);
  } else {
    runner.run();
  }
}

void LayerwiseForward::run_streamed(const models::Part& part, Runner& runner) {
  const std::vector<Step>& steps = part.plan->steps();
  for (size_t at = 0; at < steps.size(); ++at) {
    const std::vector<int32_t> slots = matrices_of(steps[at], model_);
    for (const int32_t slot : slots) streamed_->acquire(slot);
    runner.run(at, at + 1);
    for (const int32_t slot : slots) streamed_->release(slot);
  }
}

std::vector<bool> LayerwiseForward::ask(size_t i, const float* logits, const Hooks& hooks) const {
  std::vector<bool> leave(sequences_.size(), false);
  hooks.decide(i, sequences_, logits, leave);
  if (std::find(leave.begin(), leave.end(), true) == leave.end()) leave.clear();
  return leave;
}

void LayerwiseForward::shrink(const std::vector<bool>& leave, data::Batch& batch) {
  if (leave.empty()) return;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < leave.size(); ++i) {
    if (!leave[i]) kept.push_back(static_cast<int64_t>(i));
  }
  batch = batch.subset(kept);
  for (int64_t& place : kept) place = sequences_[static_cast<size_t>(place)];
  sequences_ = std::move(kept);
}

void LayerwiseForward::run_whole(size_t i, data::Batch& batch, const Hooks& hooks) {
  const models::Part& part = parts_[i];
  run_part(part, runners_[i], batch);
  if (i + 1 == parts_.size()) return;
  std::vector<bool> leave;
  if (part.exit && hooks.decide) {
    leave = ask(i, runners_[i].output<float>(*part.exit), hooks);
  }
  carry(i, leave, batch);
}

void LayerwiseForward::carry(size_t i, const std::vector<bool>& leave, data::Batch& batch) {
  if (runners_[i].cuda()) return carry_on_gpu(i, leave, batch);
  const Value output = parts_[i].output;
  keep_rows(runners_[i].output<std::byte>(output), output, batch, leave, x_);
  shrink(leave, batch);
}

/// Moves rows before the next part is laid out, in whose memory the output may lie.
void LayerwiseForward::carry_on_gpu(size_t i, const std::vector<bool>& leave, data::Batch& batch) {
  const Value output = parts_[i].output;
  std::vector<int32_t> rows;
  for (int64_t sample = 0; sample < batch.size(); ++sample) {
    if (!leave.empty() && leave[static_cast<size_t>(sample)]) continue;
    const int64_t end = batch.first(output.rows, sample + 1);
    for (int64_t row = batch.first(output.rows, sample); row < end; ++row) {
      rows.push_back(static_cast<int32_t>(row));
    }
  }
  shrink(leave, batch);
  if (sequences_.empty()) return;
  const Plan& plan = *parts_[i].plan;
  rows.resize(static_cast<size_t>(plan.bucket(plan.complete(batch.extents()))[output.rows]), -1);
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
                 output.dtype, runners_[i].address(output), output.width, gpu_rows_.as<int32_t>(),
                 std::ssize(rows), output.width, gpu_x_.data(), stream.handle()),
             "gather");
}

void LayerwiseForward::run_split(size_t i, data::Batch& batch, const Hooks& hooks) {
  const models::SplitPart& layer = split_[i - 1];
  run_part(layer.exit_part, exit_parts_[i - 1], batch);
  const std::vector<bool> leave =
      ask(i, exit_parts_[i - 1].output<float>(*layer.exit_part.exit), hooks);
  const Value kv = layer.exit_part.carried;
  keep_rows(exit_parts_[i - 1].output<std::byte>(kv), kv, batch, leave, kv_);
  if (!leave.empty()) keep_rows(x_.data(), layer.remainder.input, batch, leave, x_);
  shrink(leave, batch);
  if (sequences_.empty()) return;
  remainders_[i - 1].bind(layer.remainder.carried, kv_.data());
  run_part(layer.remainder, remainders_[i - 1], batch);
  keep_rows(remainders_[i - 1].output<std::byte>(layer.remainder.output), layer.remainder.output,
            batch, {}, x_);
}

void LayerwiseForward::run(const data::Batch& given, const Hooks& hooks) {
  data::Batch batch = given;
  sequences_.resize(static_cast<size_t>(batch.size()));
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
  const auto* rows = runners_.back().output<float>(last);
  for (size_t i = 0; i < sequences_.size(); ++i) {
    const auto width = static_cast<size_t>(last.width);
    hooks.finish(sequences_[i], {rows + i * width, width});
  }
}

}  // namespace hone::infer
