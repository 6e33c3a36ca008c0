#include "plan/cpu_executor.h"

#include <cstring>

namespace hone {
namespace {

class Copied : public Fetched {
 public:
  std::vector<std::byte> bytes;
  const std::byte* data() override { return bytes.data(); }
};

}  // namespace

CpuExecutor::CpuExecutor(const Plan& plan, const WeightArrays& weights, ThreadPool& pool,
                         RunnerOptions options)
    : Executor(plan, weights, pool, std::move(options)) {
  for (const Plan::Entry& entry : plan.entries_) {
    if (!entry.constant.empty()) bind(entry.value, entry.constant.data());
  }
}

size_t CpuExecutor::bytes_for(const Extents& extents) const {
  const Extents all = plan_.complete(extents);
  return lay_out(all).bytes + workspace_for(all);
}

void CpuExecutor::resize(const Extents& batch) {
  const Extents extents = plan_.complete(batch);
  if (laid_out_ && extents == frame_.extents_ && laid_out_in_ == arena_->host.data() &&
      laid_out_bytes_ <= arena_->host.size()) {
    return;
  }
  frame_.extents_ = extents;
  const MemoryPlan memory = lay_out(extents);
  laid_out_bytes_ = memory.bytes + workspace_for(extents);
  if (laid_out_bytes_ > arena_->host.size()) {
    arena_->host = Buffer();  // the old one goes before the new one comes
    arena_->host = Buffer(laid_out_bytes_);
  }
  laid_out_in_ = arena_->host.data();
  auto* base = static_cast<std::byte*>(arena_->host.data());
  for (const Plan::Entry& entry : plan_.entries_) {
    const auto id = static_cast<size_t>(entry.value.id);
    const auto at = static_cast<size_t>(entry.original < 0 ? entry.value.id : entry.original);
    if (!entry.external) frame_.arrays_[id] = memory.address(at, lent_data_, base);
  }
  frame_.workspace_ = base + memory.bytes;
  laid_out_ = true;
}

void CpuExecutor::bind(Value input, const void* data) {
  frame_.arrays_[static_cast<size_t>(input.id)] = const_cast<void*>(data);
}

void CpuExecutor::run(const std::vector<size_t>& cuts, const Between& between) {
  watch_ = Stopwatch();
  size_t first = 0;
  for (size_t i = 0; i < cuts.size(); ++i) {
    run_range(first, cuts[i]);
    if (between) between(i);
    first = cuts[i];
  }
  run_range(first, plan_.steps_.size());
}

void CpuExecutor::run_range(size_t first, size_t last) {
  for (const Step& step : std::span(plan_.steps_).subspan(first, last - first)) {
    if (!sink_) {
      run_rounded(step);
      continue;
    }
    const double begin = watch_.seconds();
    run_rounded(step);
    tell(step, begin, watch_.seconds() - begin);
  }
}

void CpuExecutor::run_rounded(const Step& step) {
  run_step(step);
  if (!plan_.on_write_) return;
  for (const Value& value : step.writes) {
    if (value.dtype == plan_.written_dtype_) plan_.on_write_(frame_, value);
  }
}

const Step* CpuExecutor::run_to_non_finite() {
  for (const Step& step : plan_.steps_) {
    run_rounded(step);
    for (const Value& value : step.writes) {
      const int64_t count = frame_.rows(value) * value.width;
      if (!all_finite(held_in(value.dtype), address(value), count)) return &step;
    }
  }
  return nullptr;
}

std::shared_ptr<Fetched> CpuExecutor::fetch(std::span<const Value> values) {
  auto copied = std::make_shared<Copied>();
  for (const Value& value : values) {
    const size_t bytes = value_bytes(value, frame_.extents_);
    const size_t at = copied->bytes.size();
    copied->bytes.resize(at + bytes);
    if (bytes > 0) std::memcpy(copied->bytes.data() + at, address(value), bytes);
  }
  return copied;
}

}  // namespace hone
