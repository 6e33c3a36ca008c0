#include <fmt/core.h>

#include <csignal>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/serve_options.h"
#include "cli/serve_signals.h"

namespace hone::cli {
namespace {

/// Scrapers are few; the files of their connections count among those beside connections.
constexpr size_t kMetricsConnections = 64;

/// Answers GET /metrics on a port of its own, and nothing else.
class MetricsHandler : public http::Handler {
 public:
  explicit MetricsHandler(serve::Service& service) : service_(service) {}
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    const http::Request& request = exchange->request();
    if (request.path == "/metrics" && (request.method == "GET" || request.method == "HEAD")) {
      return exchange->respond({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                                .body = service_.metrics_text()});
    }
    exchange->respond({.status = 404, .body = "{\"error\":\"only GET /metrics is here\"}"});
  }
  http::Response refuse(const http::Request& request, int status,
                        std::string_view reason) override {
    return service_.refuse(request, status, reason);
  }

 private:
  serve::Service& service_;
};

std::string url_of(const http::ServerOptions& options, uint16_t port) {
  const bool v6 = options.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options.tls ? "https" : "http", v6 ? "[" : "",
                     options.address, v6 ? "]" : "", port);
}

/// Files that are bad leave all as it was, and say why.
void reload(serve::Service& service, http::Server& server, bool tls) {
  const auto attempt = [&](const char* what, auto work) {
    try {
      work();
      fmt::print(stderr, "hone: {}: loaded anew\n", what);
    } catch (const std::exception& error) {
      fmt::print(stderr, "hone: {}: the old one stays: {}\n", what, error.what());
    }
  };
  attempt("models", [&] { service.load_all(); });
  if (tls) attempt("certificate", [&] { server.reload_tls(); });
}

int run_server(const ServeFlags& flags, const CommonOptions& common) {
  std::signal(SIGPIPE, SIG_IGN);
  ServeSignals signals;
  const http::ServerOptions options = server_options(flags);
  serve::ServiceOptions about = service_options(flags, common);
  about.facts.payload_limit = static_cast<int64_t>(options.body_bytes);
  about.facts.io_threads = options.threads;
  serve::Service service(std::move(about));
  service.load_all();
  MetricsHandler metrics(service);
  std::unique_ptr<http::Server> metrics_server;
  if (flags.prometheus_port >= 0) {
    http::ServerOptions own;
    own.address = options.address;
    own.port = static_cast<uint16_t>(flags.prometheus_port);
    own.connections = kMetricsConnections;
    metrics_server = http::open_server(own, metrics);
  }
  const auto server = http::open_server(options, service);
  service.set_server(server.get());
  signals.set_serving();
  if (metrics_server) {
    fmt::print(stderr, "metrics on http://{}:{}/metrics\n", options.address,
               metrics_server->port());
  }
  fmt::print(stderr, "listening on {}\n", url_of(options, server->port()));
  while (signals.wait() == ServeSignals::Order::reload) {
    reload(service, *server, options.tls.has_value());
  }
  service.drain();
  const auto time = std::chrono::milliseconds(static_cast<int64_t>(flags.drain_seconds * 1e3));
  const bool drained = server->drain(time);
  metrics_server.reset();
  service.set_server(nullptr);
  if (!drained) {
    fmt::print(stderr, "hone: requests were left after {} s\n", flags.drain_seconds);
    return kFailed;
  }
  return kDone;
}

}  // namespace

int serve(const Words& words) {
  Arguments arguments("serve",
                      "Answers over HTTP as text-embeddings-inference, KServe v2 and OpenAI do.\n"
                      "Flags are variables too (HONE_PORT); --help-all shows further ones.");
  ServeFlags flags;
  declare(arguments, flags);
  arguments.example("hone serve --model DIR --port 3000");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  return run_server(flags, arguments.common());
}

}  // namespace hone::cli
