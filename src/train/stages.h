#pragma once

#include <array>
#include <string_view>

#include "base/clock.h"

namespace hone::train {

/// Where a run's time goes. What is none of the first stages is "other", shown in four parts.
enum class Stage { loading, forward, backward, evaluation, optimizer, checkpoint, logging };
inline constexpr size_t kStages = 7;

/// Seconds by stage; what no stage accounts for is the rest, so that all sum to the wall time.
class StageTimes {
 public:
  void add(Stage stage, double seconds) { seconds_[static_cast<size_t>(stage)] += seconds; }
  double operator[](Stage stage) const { return seconds_[static_cast<size_t>(stage)]; }
  /// Since the run began.
  double wall() const { return watch_.seconds(); }
  double accounted() const {
    double sum = 0;
    for (const double seconds : seconds_) sum += seconds;
    return sum;
  }

 private:
  Stopwatch watch_;
  std::array<double, kStages> seconds_{};
};

/// Adds the time until its end to a stage.
class StageTimer {
 public:
  StageTimer(StageTimes& times, Stage stage) : times_(times), stage_(stage) {}
  ~StageTimer() { times_.add(stage_, watch_.seconds()); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageTimes& times_;
  Stage stage_;
  Stopwatch watch_;
};

}  // namespace hone::train
