#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::http {

struct ClientResponse {
  int status = 0;    ///< 0: the connection ended before there was one
  std::string head;  ///< in small letters
  std::string body;

  bool has(std::string_view header_line) const {
    return head.find(std::string(header_line) + "\r\n") != std::string::npos;
  }
};

/// No wait of a test lasts longer: sanitizers on a busy machine are slow.
constexpr std::chrono::seconds kPatience{120};

/// A client that is as rude as a test wants, over a socket of its own.
class HttpClient {
 public:
  /// `receive_buffer`: how much the system takes in for it, 0 for as much as is usual.
  explicit HttpClient(uint16_t port, int receive_buffer = 0);
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool connected() const { return connected_; }
  /// Whether all of it was taken.
  bool send(std::string_view bytes);
  /// The next response; `head_only`: to a HEAD, which has no body.
  ClientResponse receive(bool head_only = false);
  /// Sends a request and gives its response.
  ClientResponse ask(std::string_view bytes) { return send(bytes) ? receive() : ClientResponse{}; }
  /// Waits for the other side to close; whether it does, without a byte more.
  bool closed();
  /// Ends its sending side alone.
  void end_sending();
  void close();
  int descriptor() const { return socket_; }

 private:
  bool receive_more();

  int socket_ = -1;
  bool connected_ = false;
  std::string received_;
};

inline std::string get(std::string_view path, std::string_view fields = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

inline std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

}  // namespace hone::http
