#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "http/http.h"
#include "http/server/acceptor.h"
#include "http/server/loop.h"
#include "http/server/server_state.h"
#include "http/server/tls.h"

namespace hone::http {

class HttpServer final : public Server {
 public:
  HttpServer(const ServerOptions& options, Handler& handler);
  ~HttpServer() override;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const override { return acceptor_->port(); }
  size_t connections() const override { return state_.connections(); }
  void reload_tls() override;
  bool drain(std::chrono::milliseconds time) override;

 private:
  void stop();

  ServerState state_;
  std::optional<Tls> tls_;
  std::vector<std::shared_ptr<Loop>> loops_;
  std::unique_ptr<Acceptor> acceptor_;  ///< runs on the first loop
};

}  // namespace hone::http
