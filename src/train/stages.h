#pragma once

#include <array>
#include <string_view>

#include "base/clock.h"
#include "profile/recorder.h"

namespace hone::train {

/// Says where a run's time goes. What belongs to none of the first stages is "other", shown in four
/// parts.
enum class Stage { loading, forward, backward, evaluation, optimizer, checkpoint, logging };
inline constexpr size_t kStages = 7;

/// Sums seconds by stage; what no stage accounts for is the rest, so that all sum to the wall time.
class StageTimes {
 public:
  void add(Stage stage, double seconds) { seconds_[static_cast<size_t>(stage)] += seconds; }
  double operator[](Stage stage) const { return seconds_[static_cast<size_t>(stage)]; }
  /// Gives the seconds since the run began.
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

/// Gives a stage as profiles show it.
constexpr profile::Stage profiled(Stage stage) {
  constexpr std::array kSame = {profile::Stage::loading,   profile::Stage::forward,
                                profile::Stage::backward,  profile::Stage::evaluation,
                                profile::Stage::optimizer, profile::Stage::checkpoint,
                                profile::Stage::logging};
  return kSame[static_cast<size_t>(stage)];
}

/// Adds the time until its end to a stage, and shows it in a profile.
class StageTimer {
 public:
  StageTimer(StageTimes& times, Stage stage)
      : times_(times),
        stage_(stage),
        span_(profile::stage_name(profiled(stage)).data(), profiled(stage)) {}
  ~StageTimer() { times_.add(stage_, watch_.seconds()); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageTimes& times_;
  Stage stage_;
  Stopwatch watch_;
  profile::Span span_;
};

}  // namespace hone::train
