#include "serve/task_queue.h"

#include <utility>

namespace hone::serve {

TaskQueue::TaskQueue(int threads, size_t most) : most_(most) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

TaskQueue::~TaskQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool TaskQueue::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= most_) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

bool TaskQueue::idle() const {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() && running_ == 0;
}

void TaskQueue::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      ++running_;
    }
    task();
    task = nullptr;  // what it holds may take long to end, and its end is part of it
    const std::lock_guard lock(mutex_);
    --running_;
  }
}

}  // namespace hone::serve
