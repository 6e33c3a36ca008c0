#pragma once

#include <cstdint>
#include <string_view>

namespace hone::optim {

enum class ScheduleKind { linear, cosine, constant };

/// Reads Trainer's names: "linear", "cosine", "constant" (also "constant_with_warmup"); anything
/// else is a usage error.
ScheduleKind parse_schedule(std::string_view name);

/// The learning rate's course, as transformers' schedulers define it: up over `warmup` steps, then
/// down to 0 at `total` (linear), half a cosine (cosine), or level.
struct Schedule {
  ScheduleKind kind = ScheduleKind::linear;
  int64_t warmup = 0;
  int64_t total = 0;

  /// Gives the factor of the base rate for the step with this number (from 0).
  double factor(int64_t step) const;
};

}  // namespace hone::optim
