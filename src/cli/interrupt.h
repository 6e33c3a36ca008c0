#pragma once

#include <atomic>
#include <thread>

namespace hone::cli {

/// While it lives, an interrupt (Ctrl-C) or a request to end removes unfinished output and ends
/// the process with 128 and the signal's number: 130, 143. To be made before other threads: they
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
