#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hone::comm {

/// Sleeps while the word, which other processes may share, holds `value`, and not longer than
/// `most`. It may return earlier.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t value, std::chrono::milliseconds most);
void futex_wake_all(const std::atomic<uint32_t>& word);

/// The clock that all processes of a host share, in nanoseconds.
int64_t host_clock();

}  // namespace hone::comm
