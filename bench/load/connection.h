#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string_view>

#include "load/options.h"
#include "load/response_parser.h"

namespace hone::load {

/// The server's address; what is not loopback is an Error.
struct Loopback {
  explicit Loopback(const Options& options);
  sockaddr_storage address = {};
  socklen_t size = 0;
};

/// A keep-alive connection that has at most one request under way. It never blocks.
class Connection {
 public:
  Connection() = default;
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Begins to connect; false where the system refuses at once.
  bool open(const Loopback& to);
  void close();
  /// Hands over a request, whose bytes must live until it is answered.
  void start(std::string_view request);

  enum class Progress { waiting, sent, answered, failed };
  /// Writes what can be written: waiting, sent (with its last byte) or failed.
  Progress write();
  /// Reads what is there: waiting, answered or failed.
  Progress read();

  int fd() const { return fd_; }
  bool writing() const { return !unsent_.empty(); }
  const ResponseParser& response() const { return response_; }
  const char* error() const { return error_; }  ///< why it failed

  // The driver's notes about the request under way.
  double intended = 0;  ///< seconds from the run's begin
  int phase = -1;
  bool busy = false;
  bool abandon = false;
  uint32_t events = 0;  ///< what epoll is asked for

 private:
  int fd_ = -1;
  std::string_view unsent_;
  ResponseParser response_;
  const char* error_ = "";
};

}  // namespace hone::load
