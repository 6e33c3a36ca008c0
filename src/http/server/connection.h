#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>

#include "http/server/deadlines.h"
#include "http/server/exchange.h"
#include "http/server/request_reader.h"
#include "http/server/socket.h"
#include "http/server/transport.h"

namespace hone::http {

class Loop;

/// A client's connection: reads a request, has the program answer it, writes the response, and
/// again. All of it runs on the thread of its loop. It holds no buffer while it is idle.
class Connection final : public std::enable_shared_from_this<Connection>, public DeadlineLink {
 public:
  Connection(Loop& loop, Socket socket, std::string peer, SslPtr ssl);

  void start();
  /// Closes it soon, if it is idle; else it ends behind the response.
  void drain();
  void on_deadline();
  /// Ends it at once.
  void close();

  /// Whether Handler::handle runs with its request now.
  bool in_handler() const { return in_handler_; }
  /// Sets what will be written; null: the request was dropped.
  void take_response(std::optional<Response> response);
  /// Writes the response that came from elsewhere, and goes on.
  void deliver(std::optional<Response> response);

 private:
  enum class Stage { handshake, reading, computing, writing, lingering, closed };
  enum class Input { more, none, ended };

  // What runs it (connection.cpp). The steps return whether the next one can follow at once.
  template <typename First>
  void turn(First&& first);
  void resume();
  void advance();
  bool shake_hands();
  bool read_request();
  void watch_client();
  bool write_response();
  void discard_input();

  // Requests and responses (connection_exchange.cpp).
  bool read_on();
  void dispatch();
  void refuse(Refusal refusal);
  void respond(Response response);
  void finish_response();

  // Bytes in and out (connection_io.cpp).
  Input read_input(size_t most);
  void keep_pending();
  bool write_now(std::string_view text);
  void wait_readable();
  void wait_writable();
  void wait_idle();
  void abort();

  Loop& loop_;
  boost::asio::posix::stream_descriptor socket_;
  Transport transport_;
  const std::string peer_;
  std::unique_ptr<RequestReader> reader_;  ///< lives from a request's first byte to its last
  std::weak_ptr<ServerExchange> exchange_;
  std::string input_;         ///< what was received and not used in the last turn
  std::string_view pending_;  ///< what is not used yet, in input_ or in the loop's read buffer
  std::string head_, body_;   ///< the response that is being written
  size_t written_ = 0;        ///< bytes of head_ and body_
  int reads_left_ = 0;        ///< reads that this turn has left, before others have theirs
  Stage stage_ = Stage::handshake;
  bool readable_ = false;  ///< the socket may have bytes
  bool waits_readable_ = false;
  bool waits_writable_ = false;
  bool in_handler_ = false;
  bool told_to_continue_ = false;  ///< the client, by status 100
  bool ended_ = false;             ///< the client sends no more
  bool client_keeps_ = false;      ///< what the request says of the connection
  bool http11_ = true;             ///< the request's version
  bool head_only_ = false;         ///< the request's method is HEAD
  bool closes_ = false;            ///< whether the connection ends behind the response
  bool write_timed_ = false;       ///< the response's time runs
};

}  // namespace hone::http
