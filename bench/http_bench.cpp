// What the HTTP server costs: processor time a request with keep-alive, and memory of idle
// connections. The server is a process of its own, so that nothing of the client is counted.
//
//   http_bench [CONNECTIONS [SECONDS [IDLE]]]      16, 5 and 10000 where they are not given

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "http/http.h"

namespace {

using hone::http::Clock;

constexpr std::string_view kRequest =
    "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: http_bench\r\nAccept: */*\r\n\r\n";

class Health final : public hone::http::Handler {
 public:
  void handle(std::shared_ptr<hone::http::Exchange> exchange) override {
    exchange->respond({.body = "{\"status\":\"ok\"}"});
  }
  hone::http::Response refuse(const hone::http::Request&, int status,
                              std::string_view reason) override {
    return {.status = status, .body = std::string(reason)};
  }
};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// The child's work: tells its port and serves until its parent is gone.
[[noreturn]] void serve(int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Health health;
  hone::http::ServerOptions options;
  options.address = "127.0.0.1";
  options.port = 0;
  const auto server = hone::http::open_server(options, health);
  const uint16_t port = server->port();
  if (write(pipe, &port, sizeof port) != sizeof port) give_up("write");
  for (;;) pause();
}

int connect_to(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up("connect");
  }
  return socket;
}

/// A whole response, which fits one read on loopback.
std::string receive(int socket) {
  char buffer[4096];
  const ssize_t got = recv(socket, buffer, sizeof buffer, 0);
  if (got <= 0) give_up("recv");
  return {buffer, static_cast<size_t>(got)};
}

void ask(int socket) {
  if (send(socket, kRequest.data(), kRequest.size(), 0) != static_cast<ssize_t>(kRequest.size())) {
    give_up("send");
  }
}

double processor_seconds(pid_t process) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    give_up("clock");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double resident_mb(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  std::string word;
  double kilobytes = 0;
  while (file >> word) {
    if (word == "VmRSS:") file >> kilobytes;
  }
  return kilobytes / 1024;
}

/// Each connection sends a request behind the response to its last one.
void measure_requests(uint16_t port, pid_t server, int connections, double seconds) {
  std::vector<pollfd> sockets;
  for (int i = 0; i < connections; ++i) sockets.push_back({connect_to(port), POLLIN, 0});
  ask(sockets[0].fd);
  const std::string expected = receive(sockets[0].fd);
  if (!expected.starts_with("HTTP/1.1 200")) give_up("status");
  for (const pollfd& socket : sockets) ask(socket.fd);
  const double before = processor_seconds(server);
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  size_t requests = 0;
  while (Clock::now() < end) {
    if (poll(sockets.data(), sockets.size(), 1000) <= 0) give_up("poll");
    for (const pollfd& socket : sockets) {
      if (!(socket.revents & POLLIN)) continue;
      if (receive(socket.fd).size() != expected.size()) give_up("response");
      ask(socket.fd);
      ++requests;
    }
  }
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const double processor = processor_seconds(server) - before;
  std::printf("%d connections: %.0f requests/s, %.2f us of processor time each\n", connections,
              static_cast<double>(requests) / wall,
              processor * 1e6 / static_cast<double>(requests));
  for (const pollfd& socket : sockets) close(socket.fd);
}

void measure_idle(uint16_t port, pid_t server, int connections) {
  const double before = resident_mb(server);
  std::vector<int> sockets;
  for (int i = 0; i < connections; ++i) {
    sockets.push_back(connect_to(port));
    ask(sockets.back());
    receive(sockets.back());
  }
  const double after = resident_mb(server);
  std::printf("%d idle connections: %.1f MB beside %.1f MB, %.0f bytes each\n", connections,
              after - before, before, (after - before) * 1048576 / connections);
  for (const int socket : sockets) close(socket);
}

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int i, double fallback) {
    return count > i ? std::atof(arguments[i]) : fallback;
  };
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
  const pid_t server = fork();
  if (server == 0) serve(ends[1]);
  close(ends[1]);
  uint16_t port = 0;
  if (read(ends[0], &port, sizeof port) != sizeof port) give_up("the server does not start");
  measure_requests(port, server, static_cast<int>(number(1, 16)), number(2, 5));
  measure_idle(port, server, static_cast<int>(number(3, 10'000)));
}
