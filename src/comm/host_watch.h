#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/host_memory.h"
#include "comm/places.h"
#include "comm/sockets.h"

namespace hone::comm {

/// A thread of each host's leader that gives signs of life to other hosts and looks for theirs: the
/// first host has a connection to each other one. A host that ends or falls silent fails the run on
/// all hosts, and so does whatever fails it on one.
class HostWatch {
 public:
  /// Connects the hosts. The first one's leader has the listener; the others have its address.
  /// Hosts that do not come within start_time() are an error. The memory must outlive this.
  HostWatch(HostMemory& host, const Places& places, std::optional<Listener> listener,
            const Address& center, double timeout);
  ~HostWatch();
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;

 private:
  struct Peer {
    std::string name;  ///< a name such as "rank 2 on n3"
    Socket socket;
    std::string in = {}, out = {};
    int64_t heard = 0;
    Collective last = {};
    bool left = false;
  };

  void let_in(const Places& places, Listener& listener);
  void go_to(const Places& places, const Address& center);
  void run();
  void beat();
  void tell_failure();
  void listen(Peer& peer, int64_t now);
  void take_messages(Peer& peer, int64_t now);
  void sleep();
  void say_farewell();

  HostMemory& host_;
  const double timeout_;
  const int64_t interval_;
  std::vector<Peer> peers_;
  int64_t since_ = 0;
  bool told_ = false;
  int wake_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;  ///< the last member, since it uses the others
};

}  // namespace hone::comm
