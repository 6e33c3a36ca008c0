#pragma once

#include <cstdint>

namespace hone::optim {

/// The factor of the gradients of fp16, so that small ones do not vanish. It works as torch's
/// GradScaler: it is halved after a step that was skipped because a gradient was not finite,
/// doubled after so many good ones in a row. A value of two numbers: checkpoints keep both.
class LossScaler {
 public:
  static constexpr double kFirst = 65536;
  static constexpr int64_t kGrowthInterval = 2000;

  explicit LossScaler(double scale = kFirst, int64_t good_steps = 0)
      : scale_(scale), good_steps_(good_steps) {}

  double scale() const { return scale_; }
  /// Counts the good steps since the scale last changed.
  int64_t good_steps() const { return good_steps_; }

  /// Takes note of a step of the optimiser; called after each.
  void update(bool skipped) {
    if (skipped) {
      scale_ *= 0.5;
      good_steps_ = 0;
    } else if (++good_steps_ == kGrowthInterval) {
      scale_ *= 2;
      good_steps_ = 0;
    }
  }

 private:
  double scale_;
  int64_t good_steps_;
};

}  // namespace hone::optim
