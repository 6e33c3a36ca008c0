#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "cli/program.h"

namespace hone::cli {

inline constexpr int kSocketPatience = 120'000;  // milliseconds

/// A connection to a port of this machine.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void send(const std::string& bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// What comes up to the first empty line.
  std::string receive_head() {
    while (read_.find("\r\n\r\n") == std::string::npos && receive_more()) {
    }
    return std::exchange(read_, {});
  }
  /// One response: its head and its body.
  std::string receive() {
    size_t wanted = std::string::npos;
    while (read_.size() < wanted && receive_more()) {
      const size_t head = read_.find("\r\n\r\n");
      const size_t length = read_.find("Content-Length: ");
      if (head != std::string::npos && length < head) {
        wanted = head + 4 + std::stoul(read_.substr(length + 16));
      }
    }
    return std::exchange(read_, {});
  }

 private:
  bool receive_more() {
    pollfd waited{socket_, POLLIN, 0};
    if (::poll(&waited, 1, kSocketPatience) <= 0) return false;
    char bytes[1 << 14];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got > 0) read_.append(bytes, static_cast<size_t>(got));
    return got > 0;
  }

  int socket_;
  bool connected_ = false;
  std::string read_;
};

inline std::string request_text(const std::string& method, const std::string& path,
                                const std::string& body = {}) {
  return method + " " + path +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

inline std::string fetch(int port, const std::string& method, const std::string& path,
                         const std::string& body = {}) {
  RawClient connection(port);
  connection.send(request_text(method, path, body));
  return connection.receive();
}

inline std::string body_of_response(const std::string& response) {
  const size_t head = response.find("\r\n\r\n");
  return head == std::string::npos ? "" : response.substr(head + 4);
}

inline int port_in(const std::string& line) {
  const size_t digits = line.find_last_of(':');
  return digits == std::string::npos ? 0 : std::atoi(line.c_str() + digits + 1);
}

/// hone serve on a free port.
class ServeProgram {
 public:
  explicit ServeProgram(const Words& words, const ProgramOptions& options = {})
      : program_(all_words(words), options) {
    while (port_ == 0) {
      const std::string line = program_.read_error_line();
      if (line.empty()) {
        ADD_FAILURE() << "it does not listen";
        return;
      }
      if (line.starts_with("listening on http")) port_ = port_in(line);
      if (line.starts_with("metrics on ")) metrics_port_ = port_in(line.substr(0, line.rfind('/')));
    }
  }
  int port() const { return port_; }
  int metrics_port() const { return metrics_port_; }
  Program& program() { return program_; }

 private:
  static Words all_words(Words words) {
    words.insert(words.begin(), {"serve", "--hostname", "127.0.0.1", "--port", "0"});
    return words;
  }
  Program program_;
  int port_ = 0;
  int metrics_port_ = 0;
};

}  // namespace hone::cli
