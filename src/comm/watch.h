#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/host_memory.h"

namespace hone::comm {

struct WatchOptions {
  double timeout = 60;  ///< seconds without a sign of life after which a rank is lost
  std::function<void()> on_beat = {};  ///< called with every sign of life that this rank gives
  /// Is called in another thread, a moment after the run has failed, where this process still goes
  /// on: it may be computing, or wait for something that never comes. It is expected to end the
  /// process.
  std::function<void(const std::string& why, bool told_here)> on_lost = {};
};

/// A thread that gives signs of life for this rank and looks for those of the others of its host.
/// One that ends or falls silent fails the run for all of them, by name.
class Watch {
 public:
  /// The memory must outlive this.
  Watch(HostMemory& host, WatchOptions options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  struct Peer {
    int index = 0;
    int process = 0;      ///< a descriptor that becomes readable when it ends; -1: none
    bool watched = true;  ///< false where it has left, or is a thread of this process
  };

  void run();
  void check(int64_t now);
  void check_peer(Peer& peer, int64_t now);
  void sleep();
  void lose(const Peer& peer, const std::string& what);
  /// Ends the process where it does not end by itself after the run has failed.
  void insist(int64_t now);

  HostMemory& host_;
  const WatchOptions options_;
  const int64_t interval_;  ///< nanoseconds between two signs of life
  int64_t since_ = 0;       ///< silence counts from here at the earliest
  int64_t failed_at_ = 0;
  bool insisted_ = false;
  std::vector<Peer> peers_;
  int wake_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;  ///< the last member, since it uses the others
};

}  // namespace hone::comm
