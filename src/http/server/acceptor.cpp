#include "http/server/acceptor.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "http/server/listen.h"

namespace hone::http {
namespace {

constexpr int kAcceptsPerTurn = 64;  ///< the most at once: connections have their turn, too
constexpr int kMostBacklog = 65536;  ///< the highest that the system keeps
/// How long accepting rests where the system has no file or memory for another connection.
constexpr std::chrono::milliseconds kPause{50};
/// What connections that have begun have left to be completed when the server drains: longer than
/// most round trips.
constexpr std::chrono::milliseconds kHandshakeTime{150};

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* const bytes =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  inet_ntop(address.ss_family, bytes, text, sizeof text);
  return text;
}

}  // namespace

Acceptor::Acceptor(ServerState& state, const std::vector<std::shared_ptr<Loop>>& loops, Tls* tls)
    : state_(state),
      loops_(loops),
      tls_(tls),
      listener_(loops.front()->io()),
      pause_(loops.front()->io()) {
  Socket listener = listen_at(state.options.address, state.options.port);
  port_ = port_of(listener);
  listener_.assign(listener.get());
  listener.release();
}

void Acceptor::start() { wait(); }

void Acceptor::wait() {
  listener_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& error) {
                         if (error) return;
                         if (accept_some(kAcceptsPerTurn) == Accepted::no_room) {
                           pause();
                         } else {
                           wait();
                         }
                       });
}

void Acceptor::pause() {
  pause_.expires_after(kPause);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !draining_) wait();
  });
}

Acceptor::Accepted Acceptor::accept_some(int most) {
  for (int i = 0; i < most; ++i) {
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    Socket socket(accept4(listener_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() >= 0) {
      if (state_.add_connection()) hand_over(std::move(socket), address_text(address));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Accepted::all;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return Accepted::no_room;
    }
  }
  return Accepted::some;
}

void Acceptor::hand_over(Socket socket, std::string peer) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Loop& loop = *loops_[next_loop_++ % loops_.size()];
  SslPtr ssl = tls_ ? tls_->connection() : nullptr;
  if (tls_ && !ssl) {
    state_.remove_connection();
  } else if (&loop == loops_.front().get()) {
    loop.adopt(std::move(socket), std::move(peer), std::move(ssl));
  } else {
    loop.post([&loop, socket = std::move(socket), peer = std::move(peer),
               ssl = std::move(ssl)]() mutable {
      loop.adopt(std::move(socket), std::move(peer), std::move(ssl));
    });
  }
}

void Acceptor::drain() {
  if (draining_) return;
  draining_ = true;
  refuse_newcomers(listener_.native_handle());
  pause_.expires_after(kHandshakeTime);
  pause_.async_wait([this](const boost::system::error_code&) {
    accept_some(kMostBacklog);
    boost::system::error_code ignored;
    listener_.close(ignored);
    state_.stop_accepting();
  });
}

}  // namespace hone::http
