#include "serve/call.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include "base/error.h"

namespace hone::serve {
namespace {

constexpr size_t kLongestId = 128;

bool is_visible_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

/// Differs from all others of this process, and most likely from those of others.
std::string make_id() {
  static const uint64_t process = [] {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
  }();
  static std::atomic<uint64_t> next{0};
  return fmt::format("{:016x}-{:08x}", process, next.fetch_add(1, std::memory_order_relaxed));
}

std::string id_of(const http::Request& request) {
  const std::string* given = request.header("x-request-id");
  const bool good =
      given && !given->empty() && given->size() <= kLongestId && is_visible_ascii(*given);
  return good ? *given : make_id();
}

}  // namespace

double seconds_between(http::Clock::time_point begin, http::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

LogEntry log_entry(const http::Request& request) {
  constexpr size_t kLongestPath = 1024;
  LogEntry entry;
  entry.id = id_of(request);
  const bool read = !request.method.empty();
  entry.method = read ? request.method : "-";
  entry.path = read ? request.path.substr(0, kLongestPath) : "-";
  entry.peer = request.peer;
  entry.request_bytes = static_cast<int64_t>(request.body.size());
  const std::string* trace = request.header("traceparent");
  if (trace && trace->size() <= kLongestId && is_visible_ascii(*trace)) {
    entry.traceparent = *trace;
  }
  return entry;
}

void add_common_headers(const http::Request& request, const std::string& id,
                        const CorsOptions& cors, http::Response& response) {
  response.headers.push_back({"x-request-id", id});
  if (!cors.on()) return;
  const std::string* origin = request.header("origin");
  const std::string allowed = origin ? cors.allowed(*origin) : std::string();
  if (allowed.empty()) return;
  response.headers.push_back({"Access-Control-Allow-Origin", allowed});
  response.headers.push_back({"Vary", "Origin"});
}

std::string CorsOptions::allowed(std::string_view origin) const {
  for (const std::string& known : origins) {
    if (known == "*") return "*";
    if (known == origin) return known;
  }
  return {};
}

Call::Call(std::shared_ptr<http::Exchange> exchange, Metrics& metrics, RequestLog& log,
           const CorsOptions& cors)
    : exchange_(std::move(exchange)),
      metrics_(metrics),
      log_(log),
      cors_(cors),
      entry_(log.enabled() ? log_entry(request()) : LogEntry{.id = id_of(request())}) {}

double Call::seconds() const { return seconds_between(request().arrived, http::Clock::now()); }

void Call::send(http::Response response) { finish(std::move(response)); }

void Call::send_json(std::string body) {
  http::Response response;
  response.body = std::move(body);
  finish(std::move(response));
}

void Call::fail(const RequestError& error) {
  metrics_.failures[static_cast<size_t>(error.failure())].add();
  entry_.error = error.what();
  finish(error_response(format_, error));
}

void Call::fail_current() { fail(request_error(std::current_exception())); }

void Call::finish(http::Response response) {
  add_common_headers(request(), entry_.id, cors_, response);
  metrics_.count_status(response.status);
  entry_.status = response.status;
  entry_.response_bytes = static_cast<int64_t>(response.body.size());
  entry_.total = seconds();
  exchange_->respond(std::move(response));
  log_.write(entry_);
}

http::Response error_response(WireFormat format, const RequestError& error) {
  http::Response response;
  response.status = status_of(error);
  response.body = error_body(format, error);
  if (error.failure() == Failure::overloaded) {
    const double seconds = std::max(1.0, std::ceil(error.retry_after));
    response.headers.push_back({"Retry-After", fmt::format("{:.0f}", seconds)});
  }
  if (!error.allow.empty()) response.headers.push_back({"Allow", error.allow});
  if (error.failure() == Failure::unauthorized) {
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
  }
  return response;
}

}  // namespace hone::serve
