#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "http/http.h"
#include "http/server/framing.h"

namespace hone::http {

/// What all threads of a server share.
class ServerState {
 public:
  ServerState(const ServerOptions& given, Handler& program)
      : options(given),
        limits{given.header_bytes, given.header_fields, given.body_bytes},
        handler(program) {}

  const ServerOptions options;
  const Limits limits;
  Handler& handler;

  size_t connections() const { return connections_.load(std::memory_order_relaxed); }
  /// Counts a connection that is opened; refuses where there are too many.
  bool add_connection();
  void remove_connection();
  void stop_accepting();
  /// Waits until nothing is accepted any more and no connection is left; whether that is so.
  bool wait_for_none(Clock::time_point until);

 private:
  std::atomic<size_t> connections_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool accepting_ = true;  ///< the mutex guards it
};

}  // namespace hone::http
