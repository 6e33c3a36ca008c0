#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace hone::load {

/// A server of one thread on a free port of the loopback device. It answers requests one after the
/// other in the order in which they come, so that a slow answer delays all that follow.
class ScriptedServer {
 public:
  /// What is sent for the n-th request, counted from 0; "" closes the connection instead.
  using Script = std::function<std::string(int64_t n, const std::string& request)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  uint16_t port() const { return port_; }
  int64_t requests() const { return requests_; }
  int64_t connections() const { return connections_; }

 private:
  void serve();

  Script script_;
  int listener_ = -1;
  int stop_ = -1;  ///< an eventfd that ends serve()
  uint16_t port_ = 0;
  std::atomic<int64_t> requests_ = 0;
  std::atomic<int64_t> connections_ = 0;
  std::thread thread_;
};

/// A response with a length; `headers` are whole lines with their ends.
std::string response(int status, const std::string& body = "{}", const std::string& headers = "");

}  // namespace hone::load
