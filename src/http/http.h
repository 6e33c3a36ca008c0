#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// An HTTP/1.1 server as its users see it. What implements it (Asio, Beast, OpenSSL) is a library
/// of its own that open_server() loads, so that a program that serves nothing does not pay for it.
namespace hone::http {

using Clock = std::chrono::steady_clock;

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method;  ///< spelt as it was sent; methods know capitals from small letters
  std::string path;    ///< the target up to its "?", not decoded, without scheme and authority
  std::string query;   ///< the target behind its "?"
  std::vector<Header> headers;
  std::string body;
  std::string peer;           ///< the client's address
  Clock::time_point arrived;  ///< the time when its header was complete

  /// The value of the first header of that name in any case; null where there is none.
  const std::string* header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  /// All but Content-Type, Content-Length, Date and Connection, which the server writes.
  std::vector<Header> headers = {};
  std::string body = {};
  bool close = false;  ///< whether the connection ends with it
};

/// A request that waits for its response. Any thread may use it. Where the last reference goes
/// without a response, the client gets status 500.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  /// Sends the response; the first call counts, later ones do nothing. Returns at once.
  virtual void respond(Response response) = 0;
  /// Whether the client has gone, so that nobody waits for the response. One that has only closed
  /// its sending side looks the same; a response still reaches it.
  virtual bool abandoned() const = 0;
};

/// What the server asks of the program. Threads of the server call it, several at one time, and
/// serve no other connection meanwhile: what takes long is handed to another thread.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  /// The response to what is no acceptable request: malformed (400), too slow (408), too large
  /// (413, 431), an expectation (417) or a version (505) that is unknown. The connection is closed
  /// behind it. Also that to a request whose exchange went without a response, or at which handle()
  /// threw (500). `reason` is one line. Of the request its peer is known; all but its body is where
  /// its header was complete and well-formed, and its method is empty where not.
  virtual Response refuse(const Request& request, int status, std::string_view reason) = 0;
};

struct TlsFiles {
  std::string certificate;  ///< PEM, the chain included
  std::string key;          ///< PEM
};

/// What a process has open beside connections: models, logs, devices, the loops' own.
constexpr size_t kFilesBesideConnections = 256;

struct ServerOptions {
  std::string address = "0.0.0.0";
  uint16_t port = 3000;  ///< 0: a free one
  int threads = 1;
  std::optional<TlsFiles> tls = {};
  size_t header_bytes = 16 * 1024;  ///< request line included
  size_t header_fields = 100;
  size_t body_bytes = 2'000'000;
  /// The most open at one time; further ones are closed at once. The server raises the process's
  /// limit of open files as far as it may; where that is too low for so many, it does not start.
  size_t connections = 16'000;
  std::chrono::milliseconds header_time{
      10'000};                                  ///< time from a request's begin to its header's end
  std::chrono::milliseconds body_time{30'000};  ///< the time from there to its body's end
  std::chrono::milliseconds write_time{30'000};  ///< a client's to take a response
  std::chrono::milliseconds idle_time{75'000};   ///< the time between two requests
  /// What drain() leaves an idle connection, so that a request that is on its way is answered.
  std::chrono::milliseconds drain_idle_time{150};
};

class Server {
 public:
  /// Ends all connections, at once.
  virtual ~Server() = default;
  virtual uint16_t port() const = 0;
  /// Connections that are open.
  virtual size_t connections() const = 0;
  /// Reads the TLS files again, for connections to come; where they are bad, the old ones stay and
  /// the error is thrown.
  virtual void reload_tls() = 0;
  /// Accepts no further connections but those that the system has begun to make, closes those that
  /// stay idle, lets requests that have begun finish (with "Connection: close"), and returns when
  /// no connection is left or the time is over; whether none is left.
  virtual bool drain(std::chrono::milliseconds time) = 0;
};

/// Starts to serve. A port that is taken, an address that is none, a bad certificate, or a library
/// that is not there is an Error of one line. The handler must outlive the server.
std::unique_ptr<Server> open_server(const ServerOptions& options, Handler& handler);

}  // namespace hone::http
