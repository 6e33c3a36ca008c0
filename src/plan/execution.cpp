#include "plan/execution.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "plan/gpu_runner.h"

namespace hone {

Execution::Execution(const Plan& plan, const WeightArrays& weights,
                     std::span<void* const> gradients, ThreadPool& pool,
                     std::shared_ptr<Arena> arena)
    : plan_(plan), arena_(std::move(arena)) {
  frame_.arrays_.assign(plan.entries_.size(), nullptr);
  for (const Plan::Entry& entry : plan.entries_) {
    if (entry.constant.empty()) continue;
    bind(entry.value, entry.constant.data());
  }
  frame_.weights_ = weights;
  frame_.gradients_ = gradients;
  frame_.pool_ = &pool;
  if (plan.gpu()) gpu_ = std::make_unique<GpuRunner>(*this);
}

Execution::~Execution() = default;

Execution::Execution(Execution&& other) noexcept = default;

void Execution::lend(const GradientArray& gradients) {
  lent_ = {gradients.bytes, {}};
  lent_data_ = static_cast<std::byte*>(gradients.data);
  for (size_t i = 0; i < plan_.steps_.size(); ++i) {
    for (const Weight& weight : plan_.steps_[i].sets) {
      const size_t at = gradients.offsets[static_cast<size_t>(weight.slot)];
      lent_.regions.push_back({at + static_cast<size_t>(weight.offset) * sizeof(float),
                               static_cast<size_t>(weight.rows * weight.width) * sizeof(float),
                               static_cast<int32_t>(i)});
    }
  }
}

MemoryPlan Execution::lay_out(const Extents& extents) const {
  std::vector<Lifetime> blocks;
  blocks.reserve(plan_.entries_.size());
  const auto end = static_cast<int32_t>(plan_.steps_.size());
  for (const Plan::Entry& entry : plan_.entries_) {
    const size_t bytes = entry.external || entry.first < 0 ? 0 : plan_.bytes_of(entry, extents);
    blocks.push_back({bytes, entry.first, entry.kept ? end : entry.last});
  }
  return plan_memory(blocks, lent_);
}

size_t Execution::workspace_for(const Extents& extents) const {
  size_t workspace = 0;
  for (const Step& step : plan_.steps_) {
    if (!step.workspace) continue;
    workspace = std::max(workspace, step.workspace(extents, frame_.pool_->size()));
  }
  return workspace;
}

size_t Execution::bytes_for(const Extents& extents) const {
  if (gpu_) return gpu_->bytes_for(extents);
  return lay_out(extents).bytes + workspace_for(extents);
}

size_t Execution::arena_bytes() const { return gpu_ ? gpu_->arena_bytes() : arena_->host.size(); }

const void* Execution::read(Value value) const {
  return gpu_ ? gpu_->read(value) : frame_.data<const void>(value);
}

void Execution::resize(const Extents& extents) {
  if (gpu_) return gpu_->resize(extents);
  if (laid_out_ && extents == frame_.extents_ && laid_out_in_ == arena_->host.data() &&
      laid_out_bytes_ <= arena_->host.size()) {
    return;
  }
  frame_.extents_ = extents;
  memory_ = lay_out(extents);
  laid_out_bytes_ = memory_.bytes + workspace_for(extents);
  if (laid_out_bytes_ > arena_->host.size()) {
    arena_->host = Buffer();  // the old one goes before the new one comes
    arena_->host = Buffer(laid_out_bytes_);
  }
  laid_out_in_ = arena_->host.data();
  auto* base = static_cast<std::byte*>(arena_->host.data());
  for (const Plan::Entry& entry : plan_.entries_) {
    const auto id = static_cast<size_t>(entry.value.id);
    const auto at = static_cast<size_t>(entry.original < 0 ? entry.value.id : entry.original);
    if (!entry.external) frame_.arrays_[id] = memory_.address(at, lent_data_, base);
  }
  frame_.workspace_ = base + memory_.bytes;
  laid_out_ = true;
}

void Execution::bind(Value input, const void* data) {
  if (gpu_) return gpu_->bind(input, data);
  frame_.arrays_[static_cast<size_t>(input.id)] = const_cast<void*>(data);
}

void Execution::run() {
  if (gpu_) return gpu_->run();
  run(0, plan_.steps_.size());
}

void Execution::run(size_t first, size_t last) {
  for (const Step& step : std::span(plan_.steps_).subspan(first, last - first)) {
    if (timing_) {
      run_timed(step);
    } else {
      run_step(step);
    }
  }
}

void Execution::run_step(const Step& step) {
  step.run(frame_);
  if (!plan_.on_write_) return;
  for (const Value& value : step.writes) {
    if (value.dtype == plan_.written_dtype_) plan_.on_write_(frame_, value);
  }
}

namespace {

template <typename T, typename Wide>
bool all_finite(const T* data, int64_t count, Wide wide) {
  return std::all_of(data, data + count, [&](T each) { return std::isfinite(wide(each)); });
}

}  // namespace

bool Execution::is_finite(Value value) const {
  const int64_t count = frame_.rows(value) * value.width;
  const auto as_it_is = [](auto each) { return each; };
  switch (held_in(value.dtype)) {
    case DType::f32:
      return all_finite(frame_.data<const float>(value), count, as_it_is);
    case DType::f64:
      return all_finite(frame_.data<const double>(value), count, as_it_is);
    case DType::bf16:
      return all_finite(frame_.data<const bf16>(value), count, [](bf16 x) { return to_float(x); });
    default:
      return true;
  }
}

const Step* Execution::run_to_non_finite() {
  if (gpu_) return gpu_->run_to_non_finite();
  for (const Step& step : plan_.steps_) {
    run_step(step);
    for (const Value& value : step.writes) {
      if (!is_finite(value)) return &step;
    }
  }
  return nullptr;
}

void Execution::run_timed(const Step& step) {
  const Stopwatch watch;
  run_step(step);
  add_time(step, watch.seconds());
}

void Execution::add_time(const Step& step, double seconds) {
  auto it = std::find_if(times_.begin(), times_.end(),
                         [&](const OpTime& time) { return time.name == step.name; });
  if (it == times_.end()) it = times_.insert(times_.end(), OpTime{step.name});
  ++it->calls;
  it->seconds += seconds;
  if (step.flops) it->flops += step.flops(frame_.extents_);
}

}  // namespace hone
