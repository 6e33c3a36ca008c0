#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace hone::cli {

/// What a server is told by signals: SIGHUP to load its files anew, SIGTERM and SIGINT to end when
/// what it has accepted is answered. A second one of those ends the process at once, and so does
/// the first where set_serving() was not called yet. It is made before other threads: they inherit
/// that the signals are left to its own thread.
class ServeSignals {
 public:
  ServeSignals();
  ~ServeSignals();
  ServeSignals(const ServeSignals&) = delete;
  ServeSignals& operator=(const ServeSignals&) = delete;

  enum class Order { reload, stop };
  /// Makes the first request to end an order, from now on.
  void set_serving();
  /// Waits for the next order.
  Order wait();

 private:
  void run();

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  bool serving_ = false;
  bool reload_ = false;
  bool stop_ = false;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace hone::cli
