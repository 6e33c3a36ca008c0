#include "base/error.h"
#include "base/json_text.h"
#include "base/version.h"
#include "serve/page.h"
#include "serve/service.h"
#include "serve/wire_openai.h"

namespace hone::serve {
namespace {

http::Response html(std::string_view page) {
  http::Response response;
  response.content_type = "text/html; charset=utf-8";
  // The page asks nobody but its own server, and nobody may put it into a frame.
  response.headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                       "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                       "frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", "no-cache"}};
  response.body = page;
  return response;
}

}  // namespace

void Service::answer_about_server(const CallPtr& call, const RouteMatch& match) {
  switch (match.entry->route) {
    case Route::root:
      return root(call);
    case Route::metrics: {
      http::Response response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = metrics_text();
      return call->send(std::move(response));
    }
    case Route::info:
      return info(call, match);
    case Route::docs:
      return call->send(html(docs_page()));
    case Route::openapi:
      return call->send_json(std::string(openapi_document()));
    case Route::openai_models:
      return call->send_json(write_models(registry_->names(), started_));
    case Route::openai_model:
      return openai_model(call, match);
    case Route::server_metadata:
      return call->send_json(
          fmt::format(R"({{"name":"hone","version":"{}","extensions":["binary_tensor_data",)"
                      R"("classification","model_repository"]}})",
                      kVersion));
    case Route::server_live:
      return call->send_json("{\"live\":true}");
    case Route::repository_index:
      return repository_index(call);
    default:
      return health(call);
  }
}

void Service::root(const CallPtr& call) {
  const std::string* accept = call->request().header("accept");
  if (accept && accept->find("text/html") != std::string::npos)
    return call->send(html(index_page()));
  health(call);
}

void Service::info(const CallPtr& call, const RouteMatch& match) {
  const Found found = find(match.model);
  OrderedJson json = info_json(*found.traits, *found.model, options_.facts);
  json["models"] = registry_->names();
  call->send_json(json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

std::string Service::metrics_text() {
  Gauges gauges;
  for (const std::string& name : registry_->names()) {
    const auto model = registry_->find(name);
    if (!model) continue;
    const ServedModel::Load load = model->load();
    gauges.queue_inputs += load.inputs;
    gauges.queue_tokens += load.tokens;
    gauges.computing_inputs += load.computing;
    ++gauges.models;
  }
  if (const http::Server* server = server_) {
    gauges.connections = static_cast<int64_t>(server->connections());
  }
  return metrics_.text(gauges);
}

/// A forward pass may be needed to know; then another thread waits for it. What it found counts
/// for a second.
void Service::health(const CallPtr& call) {
  if (draining_) return send_health(call, false);
  const int64_t now = Clock::now().time_since_epoch().count();
  constexpr int64_t kFresh = Clock::duration(std::chrono::seconds(1)).count();
  const int64_t checked = ready_checked_.load(std::memory_order_acquire);
  if (checked != 0 && now - checked < kFresh) return send_health(call, ready_);
  run_in_background(call, [this, call] {
    const bool ready = all_ready();
    ready_ = ready;
    ready_checked_.store(Clock::now().time_since_epoch().count(), std::memory_order_release);
    send_health(call, ready && !draining_);
  });
}

bool Service::all_ready() {
  const std::vector<std::string> names = registry_->names();
  for (const std::string& name : names) {
    const auto model = registry_->find(name);
    if (model && !model->ready()) return false;
  }
  return !names.empty();
}

void Service::send_health(const CallPtr& call, bool ready) {
  if (!ready) throw RequestError(Failure::unhealthy, draining_ ? "about to end" : "unhealthy");
  http::Response response;
  if (call->format() == WireFormat::kserve) {
    response.body = "{\"ready\":true}";
  } else {
    response.content_type = "text/plain";
  }
  call->send(std::move(response));
}

}  // namespace hone::serve
