#include "plan/plan.h"

#include <algorithm>

namespace hone {

Value Plan::append(DType dtype, Axis rows, int64_t width, bool external) {
  const Value value{static_cast<int32_t>(entries_.size()), dtype, rows, width};
  entries_.push_back({value, external});
  return value;
}

Value Plan::input(DType dtype, Axis rows, int64_t width) {
  return append(dtype, rows, width, true);
}

Value Plan::temporary(DType dtype, Axis rows, int64_t width) {
  return append(dtype, rows, width, false);
}

void Plan::keep(Value value) { entries_[static_cast<size_t>(value.id)].kept = true; }

void Plan::add(Step step) {
  const auto index = static_cast<int32_t>(steps_.size());
  for (const auto* values : {&step.reads, &step.writes}) {
    for (const Value& value : *values) {
      Entry& entry = entries_[static_cast<size_t>(value.id)];
      if (entry.first < 0) entry.first = index;
      entry.last = std::max(entry.last, index);
    }
  }
  steps_.push_back(std::move(step));
}

double Plan::flops(const Extents& extents) const {
  double total = 0;
  for (const Step& step : steps_) {
    if (step.flops) total += step.flops(extents);
  }
  return total;
}

}  // namespace hone
