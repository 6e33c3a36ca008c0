#pragma once

#include <cstdint>
#include <string_view>

namespace hone::optim {

enum class ScheduleKind { linear, cosine, constant, step, one_cycle };

/// Reads Trainer's names, "linear", "cosine", "constant" (also "constant_with_warmup"), and
/// PyTorch's "step" and "one_cycle"; anything else is a usage error.
ScheduleKind parse_schedule(std::string_view name);

/// The learning rate's course, as transformers' schedulers define it: up over `warmup` steps, then
/// down to 0 at `total` (linear), half a cosine (cosine), level, or times `gamma` every
/// `step_size` steps (step, PyTorch's StepLR). One cycle is PyTorch's OneCycleLR: by half a cosine
/// from 1/25 up to 1 over the warm-up, or 0.3 of all steps, then down to 1/250000.
struct Schedule {
  ScheduleKind kind = ScheduleKind::linear;
  int64_t warmup = 0;
  int64_t total = 0;
  int64_t step_size = 1;
  double gamma = 0.1;

  /// Gives the factor of the base rate for the step with this number (from 0).
  double factor(int64_t step) const;
};

}  // namespace hone::optim
