#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace hone::train {

/// The work of one rank in one step.
struct RankWork {
  int64_t samples = 0;
  double units = 0;    ///< tokens, pixels: what time goes by
  double seconds = 0;  ///< seconds of the step in which the rank was not waiting for others
};

/// Has the shares of a step follow the ranks' speeds. A rank's speed is what it does in a whole
/// step over the time that takes it. A large gain is taken as soon as the middle one of the last
/// three steps promises it, so that one disturbed step moves nothing; a small one only where the
/// mean of many does, so that noise moves nothing. A change forgets what was measured before it. A
/// pure function of what it was told: all ranks that are told the same have the same shares.
class Balancer {
 public:
  static constexpr size_t kFew = 3, kMany = 12;  ///< steps that a speed is taken from
  static constexpr double kLargeGain = 0.08;     ///< share of a step's time that a change saves
  static constexpr double kSmallGain = 0.025;

  /// `delay` is the number of steps until a change can take effect.
  Balancer(size_t ranks, int64_t delay);

  /// Takes note of a step; one that is much smaller than others, as at the end of an epoch, says
  /// little of speeds and is left out. Gives true where shares() has changed.
  bool observe(std::span<const RankWork> step);
  /// Gives the shares by rank, which add up to 1.
  const std::vector<double>& shares() const { return shares_; }

 private:
  /// Takes the shares that fit the last `count` steps, where they save at least `gain`.
  bool improve(size_t count, double gain);

  int64_t delay_;
  int64_t wait_;      ///< steps that are not looked at
  int64_t most_ = 0;  ///< most samples that a step has had
  std::vector<double> shares_;
  std::vector<std::deque<double>> history_;  ///< by rank: the last speeds
};

}  // namespace hone::train
