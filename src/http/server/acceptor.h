#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "http/server/loop.h"
#include "http/server/server_state.h"
#include "http/server/socket.h"
#include "http/server/tls.h"

namespace hone::http {

/// Accepts connections on the thread of the first loop and deals them out to all loops by turns.
/// One listening socket serves them all: several on one port would let a second program take the
/// port too, and would spread few connections unevenly.
class Acceptor {
 public:
  /// Listens from now on. An address that is none or a port that is taken is an Error.
  Acceptor(ServerState& state, const std::vector<std::shared_ptr<Loop>>& loops, Tls* tls);
  uint16_t port() const { return port_; }

  // What follows is for the thread of the first loop alone.
  void start();
  /// Accepts what the system has begun to connect, and then no more.
  void drain();

 private:
  void wait();
  void pause();
  enum class Accepted { all, some, no_room };
  /// Accepts what is there, up to `most`; no_room: the system has no file or memory for another.
  Accepted accept_some(int most);
  void hand_over(Socket socket, std::string peer);

  ServerState& state_;
  const std::vector<std::shared_ptr<Loop>>& loops_;
  Tls* const tls_;  ///< null: in the clear
  uint16_t port_ = 0;
  size_t next_loop_ = 0;
  boost::asio::posix::stream_descriptor listener_;
  boost::asio::steady_timer pause_;
  bool draining_ = false;
};

}  // namespace hone::http
