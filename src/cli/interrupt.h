#pragma once

#include <pthread.h>

namespace hone::cli {

/// While it lives, an interrupt (Ctrl-C) or a request to end removes unfinished output and ends
/// the process with 130 or 143. To be made before other threads: they inherit that the signals
/// are left to its own thread.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  pthread_t thread_;
};

}  // namespace hone::cli
