#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "train/run.h"

namespace hone::cli {

/// Shows a run on standard error: a bar on a terminal, plain lines elsewhere, nothing if `quiet`.
class TrainDisplay : public train::Observer {
 public:
  TrainDisplay(bool quiet, std::function<bool()> stop_requested);
  ~TrainDisplay() override;

  void say(const std::string& line) override;
  void warn(const std::string& line) override;
  void progress(const train::Progress& progress) override;
  void logged(const train::LogEntry& entry) override;
  bool stop_requested() override { return stop_requested_(); }

 private:
  void erase();

  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  double next_ = 0;
  Stopwatch watch_;
  std::function<bool()> stop_requested_;
};

/// Gives what came of a run, for people.
std::string text_of(const train::Summary& summary);

}  // namespace hone::cli
