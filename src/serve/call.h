#pragma once

#include <memory>
#include <span>
#include <string>

#include "http/http.h"
#include "serve/errors.h"
#include "serve/metrics.h"
#include "serve/request_log.h"
#include "serve/work.h"

namespace hone::serve {

/// Names the sites whose pages may ask: none, some, or all ("*").
struct CorsOptions {
  std::vector<std::string> origins;

  bool on() const { return !origins.empty(); }
  /// What Access-Control-Allow-Origin shall say; empty where it is not allowed.
  std::string allowed(std::string_view origin) const;
};

/// A request on its way to its response: all that is counted, logged and sent back of it. Any
/// thread may end it; the first end counts.
class Call : public std::enable_shared_from_this<Call> {
 public:
  /// All references must outlive it.
  Call(std::shared_ptr<http::Exchange> exchange, Metrics& metrics, RequestLog& log,
       const CorsOptions& cors);

  const http::Request& request() const { return exchange_->request(); }
  bool abandoned() const { return exchange_->abandoned(); }
  const std::string& id() const { return entry_.id; }
  void set_format(WireFormat format) { format_ = format; }
  void set_model(const std::string& name) { entry_.model = name; }
  WireFormat format() const { return format_; }

  void send(http::Response response);
  void send_json(std::string body);
  void fail(const RequestError& error);
  /// Answers with the exception that is being handled.
  void fail_current();

  /// Runs `work` and fails with what it throws.
  template <typename Work>
  void guard(Work work) {
    try {
      work();
    } catch (...) {
      fail_current();
    }
  }

  /// Facts of computed inputs for the log and for headers.
  LogEntry& entry() { return entry_; }
  double seconds() const;

 private:
  void finish(http::Response response);

  std::shared_ptr<http::Exchange> exchange_;
  Metrics& metrics_;
  RequestLog& log_;
  const CorsOptions& cors_;
  WireFormat format_ = WireFormat::tei;
  LogEntry entry_;
};
using CallPtr = std::shared_ptr<Call>;

double seconds_between(http::Clock::time_point begin, http::Clock::time_point end);
/// What the log says of a request before it is answered: x-request-id as it was sent, or a new one,
/// and what is known of the rest, "-" for a request that could not be read.
LogEntry log_entry(const http::Request& request);
/// What every response to a request carries.
void add_common_headers(const http::Request& request, const std::string& id,
                        const CorsOptions& cors, http::Response& response);

/// The response to a failure, as clients of this format read it.
http::Response error_response(WireFormat format, const RequestError& error);

}  // namespace hone::serve
