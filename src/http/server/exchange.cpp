#include "http/server/exchange.h"

#include "http/server/connection.h"
#include "http/server/loop.h"

namespace hone::http {

ServerExchange::ServerExchange(std::shared_ptr<Loop> loop, std::weak_ptr<Connection> connection,
                               Request request)
    : request_(std::move(request)), loop_(std::move(loop)), connection_(std::move(connection)) {}

ServerExchange::~ServerExchange() {
  if (responded_.load(std::memory_order_relaxed)) return;
  try {
    deliver(std::nullopt);
  } catch (...) {
    // Without memory to tell of it, the client waits until it leaves.
  }
}

void ServerExchange::respond(Response response) {
  if (responded_.exchange(true, std::memory_order_relaxed)) return;
  deliver(std::move(response));
}

void ServerExchange::deliver(std::optional<Response> response) {
  if (loop_->on_its_thread()) {
    const auto connection = connection_.lock();
    if (connection && connection->in_handler()) {
      connection->take_response(std::move(response));
      return;
    }
  }
  loop_->post([connection = connection_, response = std::move(response)]() mutable {
    if (const auto open = connection.lock()) open->deliver(std::move(response));
  });
}

}  // namespace hone::http
