#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace hone {

/// Items that go from one thread to another in order. A thread that puts in more than fits waits,
/// so that memory does not grow where the other side is slower.
template <typename T>
class BoundedQueue {
 public:
  /// The queue holds items of `limit` weight in all; one of more fits alone.
  explicit BoundedQueue(size_t limit) : limit_(limit) {}

  /// Waits for room. Gives false where the queue was closed, and the item is dropped.
  bool push(T item, size_t weight) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [&] { return closed_ || items_.empty() || weight_ + weight <= limit_; });
    if (closed_) return false;
    weight_ += weight;
    items_.push_back({std::move(item), weight});
    lock.unlock();
    put_.notify_one();
    return true;
  }

  /// Waits for an item; gives none where the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    put_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front().item));
    weight_ -= items_.front().weight;
    items_.pop_front();
    lock.unlock();
    taken_.notify_one();
    return item;
  }

  bool empty() const {
    const std::lock_guard lock(mutex_);
    return items_.empty();
  }

  /// Closes the queue: nothing more goes in, nobody waits any longer, and what is there can still
  /// be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    put_.notify_all();
    taken_.notify_all();
  }

 private:
  struct Weighed {
    T item;
    size_t weight;
  };

  const size_t limit_;
  mutable std::mutex mutex_;  ///< guards all members below
  std::condition_variable put_;
  std::condition_variable taken_;
  std::deque<Weighed> items_;
  size_t weight_ = 0;
  bool closed_ = false;
};

}  // namespace hone
