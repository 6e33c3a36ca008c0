#pragma once

#include <string>

#include "profile/recorder.h"

namespace hone::profile {

/// Watches what the system does to this process while it runs: time that other guests take, and
/// stops by a quota of its control group.
class MachineWatch {
 public:
  /// `root` is the folder that stands for "/".
  explicit MachineWatch(std::string root = "");
  /// Sets facts of the time since construction: stolen_share, throttled_s, quota_cores (0: none),
  /// usable_cores, memory_limit in bytes (0: none).
  void tell(Recorder& recorder) const;

 private:
  struct Times {
    double stolen = 0, all = 0;  ///< ticks of all processors
    double throttled = 0;        ///< seconds
  };
  Times read() const;

  std::string root_;
  Times begin_;
};

}  // namespace hone::profile
