#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hone::serve {

/// Threads that do what must not hold up those that read and write connections. Tasks do not throw.
class TaskQueue {
 public:
  /// `most` tasks may wait.
  TaskQueue(int threads, size_t most);
  /// Does what waits, then ends.
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  /// False: too many wait, and the task was not taken.
  bool post(std::function<void()> task);
  /// Says whether no task waits or is under way.
  bool idle() const;

 private:
  void run();

  const size_t most_;
  mutable std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  int running_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hone::serve
