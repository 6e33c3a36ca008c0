#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "http/server/deadlines.h"
#include "http/server/server_state.h"
#include "http/server/socket.h"
#include "http/server/tls.h"

namespace hone::http {

class Connection;

/// A thread and the connections that it serves; no other thread touches them. Exchanges keep their
/// loop beyond the server's end; from then on it does nothing.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  explicit Loop(ServerState& state);
  ~Loop();
  void start();
  /// Ends all connections and the thread, at once.
  void stop();
  /// Lets go of what waits in the stopped loop. What else uses io() must be gone by now.
  void release();

  // Any thread may call these.
  /// Has the loop's thread do something soon, but not once the loop is released.
  template <typename Function>
  void post(Function&& function) {
    const std::lock_guard lock(gate_);
    if (open_) boost::asio::post(*io_, std::forward<Function>(function));
  }
  bool on_its_thread() const;

  // What follows is for its thread alone.
  /// Serves a connection that was accepted and counted.
  void adopt(Socket socket, std::string peer, SslPtr ssl);
  /// Closes connections behind their response from now on, and idle ones soon.
  void drain();
  boost::asio::io_context& io() { return *io_; }
  ServerState& state() { return state_; }
  bool draining() const { return draining_; }
  void set_deadline(Connection& connection, Wait wait);
  void clear_deadline(Connection& connection);
  /// Lets go of a connection that is closed.
  void forget(Connection& connection);
  /// A buffer for one read, whose contents the next read of any connection overwrites.
  std::vector<char>& read_buffer() { return read_buffer_; }
  /// The value of Date now.
  const std::string& date();
  /// Notes that a request was refused because too many compute: what came meanwhile is looked at
  /// together, a moment later, so that refusals take little time from those that compute.
  void pause();

 private:
  void run();
  void arm(Clock::time_point at);
  void on_timer();

  ServerState& state_;
  std::mutex gate_;
  bool open_ = true;  ///< gate_ guards it
  std::unique_ptr<boost::asio::io_context> io_;
  std::unique_ptr<boost::asio::steady_timer> timer_;
  Clock::time_point armed_ = Clock::time_point::max();  ///< what the timer waits for
  Deadlines deadlines_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::vector<char> read_buffer_;
  std::time_t date_time_ = -1;
  std::string date_;
  bool draining_ = false;
  bool pauses_ = false;  ///< whether a pause is to come
  std::thread thread_;
};

}  // namespace hone::http
