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
  if (name == "step") return ScheduleKind::step;
  if (name == "one_cycle") return ScheduleKind::one_cycle;
  fail(ErrorKind::usage, "schedule: expected linear, cosine, constant, step or one_cycle, got {}",
       quote(name));
}

namespace {

double along_cosine(double from, double to, double done) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * std::clamp(done, 0., 1.)));
}

double one_cycle(int64_t step, double rise, double total) {
  constexpr double kFirst = 1. / 25, kLast = kFirst / 1e4;
  const auto at = static_cast<double>(step);
  const double top = rise - 1, end = total - 1;
  if (at <= top) return along_cosine(kFirst, 1, top > 0 ? at / top : 1);
  return along_cosine(1, kLast, (at - top) / (end - top));
}

}  // namespace

double Schedule::factor(int64_t step) const {
  if (kind == ScheduleKind::one_cycle) {
    const auto all = static_cast<double>(total);
    return one_cycle(step, warmup > 0 ? static_cast<double>(warmup) : 0.3 * all, all);
  }
  if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup);
  if (kind == ScheduleKind::constant) return 1;
  if (kind == ScheduleKind::step) {
    return std::pow(gamma, static_cast<double>((step - warmup) / step_size));
  }
  const auto left = static_cast<double>(std::max<int64_t>(1, total - warmup));
  const double done = static_cast<double>(step - warmup) / left;
  if (kind == ScheduleKind::linear) return std::max(0., 1 - done);
  return std::max(0., 0.5 * (1 + std::cos(std::numbers::pi * std::min(done, 1.))));
}

}  // namespace hone::optim
