#pragma once

#include <atomic>
#include <thread>

namespace hone::cli {

/// While one lives, the first interrupt is a request, to be asked for and honoured; a second one
/// ends the process as before.
class GracefulStop {
 public:
  GracefulStop();
  ~GracefulStop();
  GracefulStop(const GracefulStop&) = delete;
  GracefulStop& operator=(const GracefulStop&) = delete;
  bool requested() const;
};

/// While it lives, an interrupt (Ctrl-C) or a request to end removes unfinished output and ends the
/// process with 128 and the signal's number: 130, 143. It is made before other threads: they
/// inherit that the signals are left to its own thread.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  void wait_for_signal() const;

  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace hone::cli
