#include "comm/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace hone::comm {
namespace {

constexpr size_t kSecretBytes = 32;
constexpr size_t kLongestText = 200;
constexpr double kGreetingTime = 2;  // seconds

std::string make_secret() {
  std::array<unsigned char, kSecretBytes / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    fail(ErrorKind::io, "no random numbers: {}", std::generic_category().message(errno));
  }
  std::string text;
  for (const unsigned char each : bytes) text += fmt::format("{:02x}", each);
  return text;
}

/// Gives the addresses of this host by which others may reach it.
std::vector<std::string> addresses_here(bool loopback) {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (!loopback && ::getifaddrs(&list) == 0) {
    for (const ifaddrs* each = list; each; each = each->ifa_next) {
      if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
      if ((each->ifa_flags & IFF_LOOPBACK) != 0 || (each->ifa_flags & IFF_UP) == 0) continue;
      std::array<char, INET_ADDRSTRLEN> text{};
      const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      if (::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size())) {
        found.emplace_back(text.data());
      }
    }
    ::freeifaddrs(list);
  }
  if (found.empty()) found.emplace_back("127.0.0.1");
  return found;
}

bool wait_until_ready(int descriptor, short events, double seconds) {
  pollfd waited{descriptor, events, 0};
  return ::poll(&waited, 1, std::max(0, static_cast<int>(1000 * seconds))) > 0;
}

void prepare(int descriptor) {
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  const int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Socket try_address(const std::string& host, uint16_t port, double seconds) {
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made.open()) return {};
  prepare(made.descriptor());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return {};
  if (::connect(made.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
          0 &&
      errno != EINPROGRESS) {
    return {};
  }
  if (!wait_until_ready(made.descriptor(), POLLOUT, seconds)) return {};
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(made.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? std::move(made) : Socket();
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Socket::send_some(std::string& bytes) const {
  while (!bytes.empty()) {
    const ssize_t put =
        ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    bytes.erase(0, static_cast<size_t>(put));
  }
  return true;
}

bool Socket::read_some(std::string& bytes) const {
  for (;;) {
    std::array<char, 4096> part;
    const ssize_t got = ::recv(descriptor_, part.data(), part.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (got == 0) return false;
    bytes.append(part.data(), static_cast<size_t>(got));
  }
}

Listener::Listener(bool loopback) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t length = sizeof any;
  auto* address = reinterpret_cast<sockaddr*>(&any);
  if (!socket_.open() || ::bind(socket_.descriptor(), address, length) != 0 ||
      ::listen(socket_.descriptor(), SOMAXCONN) != 0 ||
      ::getsockname(socket_.descriptor(), address, &length) != 0) {
    fail(ErrorKind::io, "cannot listen for other hosts: {}",
         std::generic_category().message(errno));
  }
  prepare(socket_.descriptor());
  address_ = {addresses_here(loopback), ntohs(any.sin_port), make_secret()};
}

Guest Listener::accept(double seconds) {
  const Stopwatch watch;
  while (watch.seconds() < seconds) {
    if (!wait_until_ready(socket_.descriptor(), POLLIN, seconds - watch.seconds())) break;
    Socket guest(::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!guest.open()) continue;
    prepare(guest.descriptor());
    // A greeting is the secret, a text and a new line; who sends something else is let go.
    std::string greeting;
    const Stopwatch since;
    while (greeting.find('\n') == std::string::npos && since.seconds() < kGreetingTime &&
           greeting.size() <= kSecretBytes + kLongestText &&
           wait_until_ready(guest.descriptor(), POLLIN, kGreetingTime - since.seconds()) &&
           guest.read_some(greeting)) {
    }
    const size_t end = greeting.find('\n');
    if (!greeting.starts_with(address_.secret) || end == std::string::npos) continue;
    return {std::move(guest), greeting.substr(kSecretBytes, end - kSecretBytes),
            greeting.substr(end + 1)};
  }
  return {};
}

Socket connect_to(const Address& address, const std::string& text, double seconds) {
  const Stopwatch watch;
  std::string greeting = address.secret + text + "\n";
  while (watch.seconds() < seconds) {
    for (const std::string& host : address.hosts) {
      Socket made = try_address(host, address.port, std::min(3.0, seconds - watch.seconds()));
      if (made.open() && made.send_some(greeting) && greeting.empty()) return made;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

}  // namespace hone::comm
