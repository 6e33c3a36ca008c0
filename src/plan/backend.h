#pragma once

#include <cstdint>
#include <memory>

#include "device/target.h"
#include "plan/executor.h"

namespace hone {

/// A point in a device's work, by the device's clock.
class Marker {
 public:
  virtual ~Marker() = default;
  /// Puts the marker behind all that was started.
  virtual void record() = 0;
  /// Waits until the device has come to the marker.
  virtual void wait() = 0;
  /// Gives the seconds between two markers; both must have been waited for.
  virtual double seconds_since(const Marker& earlier) const = 0;
};

/// A kind of device: the one place that those who run, time and train on it ask, so that none of
/// them tells devices apart.
class Backend {
 public:
  static Backend& of(DeviceKind device);
  virtual ~Backend() = default;

  virtual std::unique_ptr<Executor> executor(const Plan& plan, const WeightArrays& weights,
                                             ThreadPool& pool, RunnerOptions options) = 0;
  virtual std::unique_ptr<Marker> marker() = 0;
  /// Waits for all that was started.
  virtual void wait() = 0;
  /// Says whether runs and updates return before they are done, so that a host can go on.
  virtual bool runs_ahead() const = 0;
  /// Says whether a step's first batch sets gradients, whose memory may be lent until then.
  virtual bool sets_gradients() const = 0;
  /// Says how many tokens or the like make a forward pass efficient.
  virtual int64_t efficient_rows() const = 0;
};

}  // namespace hone
