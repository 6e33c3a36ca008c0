#include "load/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace hone::load {

Loopback::Loopback(const Options& options) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(options.port);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(options.port);
  const char* text = options.address.c_str();
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1 && ntohl(v4.sin_addr.s_addr) >> 24 == 127) {
    size = sizeof v4;
    std::memcpy(&address, &v4, sizeof v4);
  } else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) {
    size = sizeof v6;
    std::memcpy(&address, &v6, sizeof v6);
  } else {
    fail(ErrorKind::usage, "address: {} is not of the loopback device (127.0.0.1 or ::1)",
         quote(options.address));
  }
}

bool Connection::open(const Loopback& to) {
  close();
  fd_ = socket(to.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) {
    error_ = "no socket";
    return false;
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const sockaddr* address = reinterpret_cast<const sockaddr*>(&to.address);
  if (connect(fd_, address, to.size) != 0 && errno != EINPROGRESS) {
    error_ = "connect";
    close();
    return false;
  }
  return true;
}

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  busy = false;
  events = 0;
  unsent_ = {};
}

void Connection::start(std::string_view request) {
  response_.reset();
  unsent_ = request;
  busy = true;
}

Connection::Progress Connection::write() {
  while (!unsent_.empty()) {
    const ssize_t sent = send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    // A socket that still connects gives EAGAIN here, as a full one does.
    if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN)) return Progress::waiting;
    if (sent < 0) {
      error_ = errno == ECONNREFUSED ? "connect" : "write";
      return Progress::failed;
    }
    unsent_.remove_prefix(static_cast<size_t>(sent));
  }
  return Progress::sent;
}

Connection::Progress Connection::read() {
  static thread_local std::array<char, 256 * 1024> buffer;
  for (;;) {
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Progress::waiting;
    if (got <= 0) {
      if (got == 0 && busy && response_.end()) return Progress::answered;
      // Whether the server had read the request is not known where it answered nothing.
      error_ = got < 0 && errno == ECONNREFUSED ? "connect"
               : response_.begun()              ? "closed within the answer"
                                                : "closed without an answer";
      return Progress::failed;
    }
    if (!busy) {
      error_ = "answer without a request";
      return Progress::failed;
    }
    switch (response_.feed({buffer.data(), static_cast<size_t>(got)})) {
      case ResponseParser::State::done:
        return Progress::answered;
      case ResponseParser::State::malformed:
        error_ = "malformed answer";
        return Progress::failed;
      default:
        break;
    }
    // A short read has emptied the socket: asking again would cost a call for nothing.
    if (static_cast<size_t>(got) < buffer.size()) return Progress::waiting;
  }
}

}  // namespace hone::load
