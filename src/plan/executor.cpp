#include "plan/executor.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

bool audits_all = false;

template <typename T, typename ToFloat>
bool finite(const void* data, int64_t count, ToFloat to_float_of) {
  const T* values = static_cast<const T*>(data);
  return std::all_of(values, values + count,
                     [&](T each) { return std::isfinite(to_float_of(each)); });
}

}  // namespace

bool all_finite(DType dtype, const void* data, int64_t count) {
  const auto as_it_is = [](auto x) { return x; };
  switch (dtype) {
    case DType::f32:
      return finite<float>(data, count, as_it_is);
    case DType::f64:
      return finite<double>(data, count, as_it_is);
    case DType::bf16:
      return finite<bf16>(data, count, [](bf16 x) { return to_float(x); });
    case DType::f16:
      return finite<uint16_t>(data, count, [](uint16_t x) { return half_to_float(x); });
    default:
      return true;
  }
}

void Executor::audit_all(bool on) { audits_all = on; }

Executor::Executor(const Plan& plan, const WeightArrays& weights, ThreadPool& pool,
                   RunnerOptions options)
    : plan_(plan),
      arena_(options.arena ? std::move(options.arena) : std::make_shared<Arena>()),
      planned_(options.planned),
      audits_(audits_all) {
  frame_.arrays_.assign(plan.entries_.size(), nullptr);
  frame_.weights_ = weights;
  frame_.gradients_ = options.gradients;
  frame_.pool_ = &pool;
}

void Executor::lend(const GradientArray& gradients) {
  if (!planned_) return;
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

MemoryPlan Executor::lay_out(const Extents& extents) const {
  std::vector<Lifetime> blocks;
  blocks.reserve(plan_.entries_.size());
  const auto end = static_cast<int32_t>(plan_.steps_.size());
  for (const Plan::Entry& entry : plan_.entries_) {
    const size_t bytes = entry.external || entry.first < 0 ? 0 : plan_.bytes_of(entry, extents);
    const int32_t last = entry.kept || !planned_ ? end : entry.last;
    blocks.push_back({bytes, planned_ ? entry.first : 0, last});
  }
  return plan_memory(blocks, lent_);
}

size_t Executor::workspace_for(const Extents& extents) const {
  size_t workspace = 0;
  for (const Step& step : plan_.steps_) {
    if (!step.workspace) continue;
    workspace = std::max(workspace, step.workspace(extents, frame_.pool_->size()));
  }
  return workspace;
}

void Executor::run_step(const Step& step) {
  if (audits_) frame_.audited_ = &step;
  step.run(frame_);
}

void Executor::tell(const Step& step, double begin, double seconds) const {
  sink_->on_step({plan_, step, frame_.extents_, begin, seconds});
}

size_t Executor::value_bytes(Value value, const Extents& extents) const {
  return plan_.bytes_of(plan_.entries_[static_cast<size_t>(value.id)], extents);
}

}  // namespace hone
