#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "base/file.h"
#include "cli/exit_code.h"

namespace hone::cli {
namespace {

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // Left ignored where whoever started us had it so (nohup, background jobs).
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&set, signal);
    }
  }
  return set;
}

void* wait_for_signal(void*) {
  const sigset_t set = handled_signals();
  int signal = 0;
  if (::sigwait(&set, &signal) != 0) return nullptr;
  remove_partial_output();
  constexpr int kSignalled = 128;
  static_assert(kSignalled + SIGINT == kInterrupted);
  ::_exit(kSignalled + signal);
}

}  // namespace

Interruptible::Interruptible() {
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (::pthread_create(&thread_, nullptr, wait_for_signal, nullptr) != 0) {
    fail(ErrorKind::memory, "cannot start a thread");
  }
}

Interruptible::~Interruptible() {
  ::pthread_cancel(thread_);
  ::pthread_join(thread_, nullptr);
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace hone::cli
