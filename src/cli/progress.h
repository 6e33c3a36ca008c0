#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace hone::cli {

/// Shows how far long work has come, on standard error: one line drawn again and again on a
/// terminal, a line every few seconds elsewhere. Nothing is shown of work that is soon done.
class Progress {
 public:
  /// `what` names the work, `unit` what is counted.
  Progress(std::string what, std::string unit, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t count);

 private:
  std::string what_;
  std::string unit_;
  bool shown_;
  bool terminal_;
  double next_;
  bool drawn_ = false;
  Stopwatch watch_;
};

/// Writes a warning on standard error, unless `quiet`.
void warn(bool quiet, const std::string& message);

}  // namespace hone::cli
