#include "comm/guardian.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>

#include "comm/futex.h"

namespace hone::comm {
namespace {

/// Looks after a process until it ends; runs behind fork, so it neither allocates nor locks.
[[noreturn]] void look_after(pid_t process, const std::atomic<int64_t>& heard, int64_t timeout) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr int64_t kNap = 100'000'000;
  int64_t since = host_clock();
  for (int64_t last = since; ::getppid() == process;) {
    const timespec nap{0, kNap};
    ::nanosleep(&nap, nullptr);
    const int64_t now = host_clock();
    if (now - last > 20 * kNap) since = now;  // the guardian was stopped too
    last = now;
    if (now - std::max(since, heard.load()) > timeout) ::kill(process, SIGKILL);
  }
  ::_exit(0);
}

}  // namespace

Guardian::Guardian(double timeout) {
  void* page = ::mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  heard_ = new (page) std::atomic<int64_t>(host_clock());
  const pid_t own = ::getpid();
  process_ = ::fork();
  // The others have ended by then, so that they name this rank before it disappears.
  constexpr double kLater = 1;
  if (process_ == 0) look_after(own, *heard_, static_cast<int64_t>(1e9 * (timeout + kLater)));
}

Guardian::~Guardian() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (heard_) ::munmap(heard_, sizeof(std::atomic<int64_t>));
}

void Guardian::beat() {
  if (heard_) heard_->store(host_clock());
}

}  // namespace hone::comm
