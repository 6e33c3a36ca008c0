#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "http/http.h"

namespace hone::http {

class Connection;
class Loop;

/// A request that a connection waits for the response to. It may outlive connection and server.
class ServerExchange final : public Exchange {
 public:
  ServerExchange(std::shared_ptr<Loop> loop, std::weak_ptr<Connection> connection, Request request);
  ~ServerExchange() override;
  ServerExchange(const ServerExchange&) = delete;
  ServerExchange& operator=(const ServerExchange&) = delete;

  const Request& request() const override { return request_; }
  void respond(Response response) override;
  bool abandoned() const override { return abandoned_.load(std::memory_order_relaxed); }
  void abandon() { abandoned_.store(true, std::memory_order_relaxed); }

 private:
  /// Hands the response, or that there is none, to the connection on its thread.
  void deliver(std::optional<Response> response);

  const Request request_;
  const std::shared_ptr<Loop> loop_;
  const std::weak_ptr<Connection> connection_;  ///< locked on the loop's thread alone
  std::atomic<bool> responded_{false};
  std::atomic<bool> abandoned_{false};
};

}  // namespace hone::http
