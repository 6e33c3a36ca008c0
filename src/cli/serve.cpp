#include <fmt/core.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "base/file.h"
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

void report_reload(const std::string& what, const std::exception* error) {
  if (error) {
    fmt::print(stderr, "hone: {}: stays as it was: {}\n", what, error->what());
  } else {
    fmt::print(stderr, "hone: {}: loaded anew\n", what);
  }
}

/// Reads the certificate, where there is one, and all models anew. What is bad stays as it was,
/// says why, and holds up nothing else.
void reload(serve::Service& service, http::Server& server, bool tls) {
  if (tls) {
    try {
      server.reload_tls();
      report_reload("certificate", nullptr);
    } catch (const std::exception& error) {
      report_reload("certificate", &error);
    }
  }
  service.reload_all([](const std::string& name, const std::exception* error) {
    report_reload(fmt::format("model {}", quote(name)), error);
  });
}

/// Answers what was accepted, for as long as the flags leave, and gives the exit code.
int drain(serve::Service& service, http::Server& server, double seconds) {
  service.drain();
  const auto time = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
  if (server.drain(time)) return kDone;
  fmt::print(stderr, "hone: requests were left after {} s\n", seconds);
  return kFailed;
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
  // One reload is under way and one waits; a further order means what the waiting one does.
  serve::TaskQueue reloads(1, 1);
  while (signals.wait() == ServeSignals::Order::reload) {
    reloads.post([&] { reload(service, *server, options.tls.has_value()); });
  }
  const int code = drain(service, *server, flags.drain_seconds);
  if (code != kDone || !reloads.idle() || !service.idle()) {
    // What is left to do is for nobody, a load above all, and would hold the end up.
    service.log().close();
    remove_partial_output(true);
    ::_exit(code);
  }
  metrics_server.reset();
  service.set_server(nullptr);
  return code;
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
