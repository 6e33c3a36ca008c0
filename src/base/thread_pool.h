#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace hone {

/// Fork-join workers. The caller is one of them: a pool of one starts no thread. hone has its own
/// pool rather than OpenMP, whose runtime is opaque to the thread sanitizer; the same workers must
/// serve kernels, tokenisation and loading without oversubscribing the cores.
class ThreadPool {
 public:
  /// `task` counts from 0; `worker` is below size() and no two calls under way share one.
  using Body = FunctionRef<void(int64_t task, int worker)>;

  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Runs tasks 0..tasks-1, each once, in any order, and returns when all are done. The first
  /// exception is rethrown. A call from inside a task runs its tasks in that task's thread, as
  /// worker 0. One call at a time from outside.
  void run(int64_t tasks, Body body);

 private:
  void work(int worker);
  void drain(int worker);
  void give_up();

  // kOpen is the bit of gate_ by which a run takes workers in; the bits below it count those
  // inside. run() returns when the gate is shut and nobody is inside: a worker that has not woken
  // up by then is not waited for, which on busy cores would cost a turn of the scheduler at every
  // run.
  static constexpr uint32_t kOpen = 1u << 31;

  // Tasks are cut into one range a worker, so that neighbouring tasks of one run and of the next
  // fall to one core and its caches; a worker that is done goes on with what others have left.
  struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  std::vector<std::thread> workers_;
  std::vector<Range> ranges_;
  const Body* body_ = nullptr;
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> gate_{0};
  std::atomic<bool> stop_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace hone
