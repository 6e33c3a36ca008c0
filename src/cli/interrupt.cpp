#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "base/file.h"
#include "cli/exit_code.h"

namespace hone::cli {
namespace {

/// Tells the waiting thread that there is nothing left to wait for.
constexpr int kWake = SIGUSR2;

std::atomic<bool> graceful{false};
std::atomic<bool> requested_stop{false};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kWake);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // A signal stays ignored where whoever started us had it so (nohup, background jobs).
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&set, signal);
    }
  }
  return set;
}

}  // namespace

GracefulStop::GracefulStop() {
  requested_stop = false;
  graceful = true;
}

GracefulStop::~GracefulStop() { graceful = false; }

bool GracefulStop::requested() const { return requested_stop; }

Interruptible::Interruptible() {
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { wait_for_signal(); });
}

Interruptible::~Interruptible() {
  done_ = true;
  ::pthread_kill(thread_.native_handle(), kWake);
  thread_.join();
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interruptible::wait_for_signal() const {
  const sigset_t set = handled_signals();
  int signal = 0;
  if (::sigwait(&set, &signal) != 0 || done_) return;
  while (graceful && !requested_stop.exchange(true)) {
    if (::sigwait(&set, &signal) != 0 || done_) return;
  }
  remove_partial_output(true);
  constexpr int kSignalled = 128;
  static_assert(kSignalled + SIGINT == kInterrupted);
  ::_exit(kSignalled + signal);
}

}  // namespace hone::cli
