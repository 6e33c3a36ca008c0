#include "http/server/listen.h"

#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "http/http.h"

namespace hone::http {
namespace {

constexpr int kBacklog = 4096;  ///< The system's own limit is the lower one of the two.

struct AddressFree {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

std::unique_ptr<addrinfo, AddressFree> resolve(const std::string& address, uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    fail(ErrorKind::usage, "address: {} is none to listen at: {}", quote(address),
         gai_strerror(error));
  }
  return std::unique_ptr<addrinfo, AddressFree>(found);
}

}  // namespace

Socket listen_at(const std::string& address, uint16_t port) {
  const auto found = resolve(address, port);
  Socket listener(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;  // A port in which closed connections linger is free all the same.
  if (listener.get() < 0 ||
      setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(listener.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    const int error = errno;
    fail(ErrorKind::usage, "port: {} at {} cannot be listened at: {}", port, quote(address),
         std::strerror(error));
  }
  return listener;
}

uint16_t port_of(const Socket& listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

void refuse_newcomers(int listener) {
  constexpr uint32_t kFlags = 13, kSyn = 0x02;  // in a TCP header
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kSyn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  };
  const sock_fprog program = {std::size(steps), steps};
  // Where the system has no such filters, connections that come just before the end are broken.
  setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

void make_room_for(size_t connections) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = {limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (connections <= limit.rlim_cur && limit.rlim_cur - connections >= kFilesBesideConnections)
    return;
  fail(ErrorKind::usage,
       "connections: {} and {} other files are more than the system's limit of {} open files "
       "(ulimit -n)",
       connections, kFilesBesideConnections, limit.rlim_cur);
}

}  // namespace hone::http
