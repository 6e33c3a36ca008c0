#pragma once

#include <cstddef>
#include <string_view>

#include "http/server/tls.h"

namespace hone::http {

enum class IoStatus {
  done,        ///< some bytes went
  want_read,   ///< the caller tries again when the socket can be read
  want_write,  ///< the caller tries again when the socket can be written
  ended,       ///< the other side sends no more
  failed       ///< the connection is broken
};

struct IoResult {
  IoStatus status;
  size_t bytes = 0;
};

/// Bytes over a socket that does not block, in the clear or under TLS. It does not own the socket.
/// Used on threads that block SIGPIPE, since OpenSSL writes without MSG_NOSIGNAL.
class Transport {
 public:
  /// Without `ssl` the bytes go in the clear.
  Transport(int socket, SslPtr ssl);

  bool encrypted() const { return ssl_ != nullptr; }
  /// Whether there are bytes that the socket no longer has, so that waiting for it would be wrong.
  bool buffered() const { return ssl_ && SSL_has_pending(ssl_.get()); }
  /// Goes on with the handshake; done: it is complete.
  IoResult handshake();
  IoResult read(char* to, size_t size);
  /// Writes what it can of the two texts, one behind the other.
  IoResult write(std::string_view first, std::string_view second);
  /// Tells the other side that no more will come.
  void shut_down();
  /// Ends TLS, before the socket is closed.
  void end();

 private:
  IoResult result_of(int returned);
  void notify_close();

  int socket_;
  SslPtr ssl_;
  bool broken_ = false;  ///< a TLS connection that must not be used any more, not even to end it
};

}  // namespace hone::http
