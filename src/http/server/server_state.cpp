#include "http/server/server_state.h"

namespace hone::http {

bool ServerState::add_connection() {
  if (connections_.fetch_add(1, std::memory_order_relaxed) < options.connections) return true;
  remove_connection();
  return false;
}

void ServerState::remove_connection() {
  if (connections_.fetch_sub(1, std::memory_order_relaxed) != 1) return;
  // A thread that saw the last one but does not wait yet holds the mutex.
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void ServerState::stop_accepting() {
  const std::lock_guard lock(mutex_);
  accepting_ = false;
  changed_.notify_all();
}

bool ServerState::wait_for_none(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, until, [&] { return !accepting_ && connections() == 0; });
}

}  // namespace hone::http
