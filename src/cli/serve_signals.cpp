#include "cli/serve_signals.h"

#include <unistd.h>

#include <csignal>

namespace hone::cli {
namespace {

/// Tells the waiting thread that there is nothing left to wait for.
constexpr int kWakeServer = SIGUSR2;

sigset_t server_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, kWakeServer}) sigaddset(&set, signal);
  return set;
}

}  // namespace

ServeSignals::ServeSignals() {
  const sigset_t set = server_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { run(); });
}

ServeSignals::~ServeSignals() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ::pthread_kill(thread_.native_handle(), kWakeServer);
  thread_.join();
  const sigset_t set = server_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void ServeSignals::set_serving() {
  const std::lock_guard lock(mutex_);
  serving_ = true;
}

ServeSignals::Order ServeSignals::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reload_ || stop_; });
  if (stop_) return Order::stop;
  reload_ = false;
  return Order::reload;
}

void ServeSignals::run() {
  const sigset_t set = server_signals();
  for (;;) {
    int signal = 0;
    if (::sigwait(&set, &signal) != 0) return;
    const std::lock_guard lock(mutex_);
    if (done_) return;
    if (signal == kWakeServer) continue;
    if (signal == SIGHUP) {
      reload_ = true;
    } else {
      constexpr int kSignalled = 128;
      if (stop_ || !serving_) ::_exit(kSignalled + signal);
      stop_ = true;
    }
    changed_.notify_one();
  }
}

}  // namespace hone::cli
