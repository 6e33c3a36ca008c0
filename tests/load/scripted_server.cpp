#include "load/scripted_server.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>
#include <stdexcept>
#include <vector>

namespace hone::load {
namespace {

/// The bytes of the first whole request in `text`, 0 where it is not whole yet.
size_t request_size(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  const size_t field = text.find("Content-Length: ");
  const size_t length = field < end ? std::stoul(text.substr(field + 16)) : 0;
  return text.size() >= end + 4 + length ? end + 4 + length : 0;
}

}  // namespace

std::string response(int status, const std::string& body, const std::string& headers) {
  return fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     headers, body);
}

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  stop_ = eventfd(0, EFD_CLOEXEC);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 1024) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the test's server cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

ScriptedServer::~ScriptedServer() {
  const uint64_t one = 1;
  if (write(stop_, &one, sizeof one) != sizeof one) std::abort();
  thread_.join();
  close(listener_);
  close(stop_);
}

void ScriptedServer::serve() {
  std::map<int, std::string> open;  // what each connection sent and is not answered yet
  const auto handle = [&](int fd) {
    std::array<char, 65536> buffer;
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    std::string& text = open[fd];
    text.append(buffer.data(), static_cast<size_t>(got));
    while (const size_t whole = request_size(text)) {
      const std::string answer = script_(requests_++, text.substr(0, whole));
      text.erase(0, whole);
      if (answer.empty()) return false;
      if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return false;
      if (answer.find("Connection: close") != std::string::npos) return false;
    }
    return true;
  };
  for (;;) {
    std::vector<pollfd> waiting = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& [fd, text] : open) waiting.push_back({fd, POLLIN, 0});
    poll(waiting.data(), waiting.size(), -1);
    if (waiting[0].revents != 0) break;
    if (waiting[1].revents != 0) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) {
        open[fd] = "";
        ++connections_;
      }
    }
    for (size_t i = 2; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0 || handle(waiting[i].fd)) continue;
      close(waiting[i].fd);
      open.erase(waiting[i].fd);
    }
  }
  for (const auto& [fd, text] : open) close(fd);
}

}  // namespace hone::load
