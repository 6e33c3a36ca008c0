#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace hone::optim {

ScheduleKind parse_schedule(std::string_view name) {
  if (name == "linear") return ScheduleKind::linear;
  if (name == "cosine") return ScheduleKind::cosine;
  if (name == "constant" || name == "constant_with_warmup") return ScheduleKind::constant;
  fail(ErrorKind::usage, "schedule: expected linear, cosine or constant, got {}", quote(name));
}

double Schedule::factor(int64_t step) const {
  if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup);
  if (kind == ScheduleKind::constant) return 1;
  const auto left = static_cast<double>(std::max<int64_t>(1, total - warmup));
  const double done = static_cast<double>(step - warmup) / left;
  if (kind == ScheduleKind::linear) return std::max(0., 1 - done);
  return std::max(0., 0.5 * (1 + std::cos(std::numbers::pi * std::min(done, 1.))));
}

}  // namespace hone::optim
