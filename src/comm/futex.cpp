#include "comm/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace hone::comm {
namespace {

constexpr int64_t kBillion = 1'000'000'000;

}  // namespace

void futex_wait(const std::atomic<uint32_t>& word, uint32_t value, std::chrono::milliseconds most) {
  const int64_t nanoseconds = std::chrono::nanoseconds(most).count();
  const timespec time{nanoseconds / kBillion, nanoseconds % kBillion};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

void futex_wake_all(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

int64_t host_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kBillion + now.tv_nsec;
}

}  // namespace hone::comm
