#include "base/thread_pool.h"

#include <algorithm>

namespace hone {
namespace {

// A worker that waits for the next kernel spins this long before it sleeps: the gaps between the
// kernels of one forward pass are a few microseconds, a futex wake-up costs about 50.
constexpr int kSpins = 4000;

thread_local bool inside_task = false;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::
                       : "memory");  // waits for some tens of cycles, where yield often does not
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) : ranges_(std::max(threads, 1)) {
  workers_.reserve(threads > 1 ? threads - 1 : 0);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t tasks, Body body) {
  if (tasks <= 0) return;
  if (inside_task || workers_.empty() || tasks == 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  body_ = &body;
  const auto parts = static_cast<int64_t>(ranges_.size());
  for (int64_t i = 0; i < parts; ++i) {
    ranges_[i].next.store(i * tasks / parts, std::memory_order_relaxed);
    ranges_[i].end = (i + 1) * tasks / parts;
  }
  gate_.fetch_or(kOpen, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  drain(0);
  gate_.fetch_and(~kOpen, std::memory_order_relaxed);
  for (int spins = 0; gate_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::drain(int worker) {
  inside_task = true;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    Range& range = ranges_[(static_cast<size_t>(worker) + i) % ranges_.size()];
    while (true) {
      const int64_t task = range.next.fetch_add(1, std::memory_order_relaxed);
      if (task >= range.end) break;
      try {
        (*body_)(task, worker);
      } catch (...) {
        give_up();
      }
    }
  }
  inside_task = false;
}

void ThreadPool::give_up() {
  const std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::current_exception();
  for (Range& range : ranges_) range.next.store(range.end, std::memory_order_relaxed);
}

void ThreadPool::work(int worker) {
  uint32_t seen = 0;
  while (true) {
    for (int spins = 0; spins < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++spins) {
      pause();
    }
    epoch_.wait(seen, std::memory_order_acquire);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    if (gate_.fetch_add(1, std::memory_order_acquire) & kOpen) drain(worker);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace hone
