#include "http/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace hone::http {

HttpClient::HttpClient(uint16_t port, int receive_buffer)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval patience = {kPatience.count(), 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (receive_buffer > 0) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      connected_(other.connected_),
      received_(std::move(other.received_)) {}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void HttpClient::end_sending() { shutdown(socket_, SHUT_WR); }

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpClient::receive_more() {
  char buffer[16 * 1024];
  const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
  if (got > 0) received_.append(buffer, static_cast<size_t>(got));
  return got > 0;
}

ClientResponse HttpClient::receive(bool head_only) {
  ClientResponse response;
  size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!receive_more()) return {};
  }
  response.head = received_.substr(0, end + 2);
  std::ranges::transform(response.head, response.head.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  const size_t length = response.head.find("content-length: ");
  const size_t body_size = length == std::string::npos || head_only
                               ? 0
                               : std::strtoull(response.head.c_str() + length + 16, nullptr, 10);
  while (received_.size() < end + 4 + body_size) {
    if (!receive_more()) return {};
  }
  response.body = received_.substr(end + 4, body_size);
  received_.erase(0, end + 4 + body_size);
  response.status = std::atoi(response.head.c_str() + 9);
  return response;
}

bool HttpClient::closed() {
  if (!received_.empty()) return false;
  char byte;
  return recv(socket_, &byte, 1, 0) == 0;
}

}  // namespace hone::http
