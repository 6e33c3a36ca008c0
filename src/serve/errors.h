#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hone::serve {

/// Why a request is not answered as asked.
enum class Failure {
  validation,    ///< its body or a header is not what the route takes
  batch_size,    ///< more inputs than one request may have
  empty,         ///< nothing to compute
  tokenizer,     ///< its text cannot become tokens
  model_type,    ///< the model cannot do what the route does
  overloaded,    ///< the queue is full
  backend,       ///< the model failed, or its answer is no number
  unhealthy,     ///< it is not ready, or about to end
  late,          ///< its deadline has passed
  abandoned,     ///< its client has gone
  unauthorized,  ///< no key, or a wrong one
  not_found,     ///< no such route or model
  method,        ///< a route that does not take this method
  malformed,     ///< it is not acceptable as HTTP: the server's own status counts
  internal,      ///< our own mistake
};
inline constexpr int kFailures = 15;

/// The one place that maps failures to what clients and metrics see.
struct FailureFacts {
  int status;
  std::string_view type;    ///< text-embeddings-inference's error_type
  std::string_view metric;  ///< te_request_failure's "err"
};
const FailureFacts& facts(Failure failure);

/// A request's end without an answer; the message is one line for its client.
class RequestError : public std::runtime_error {
 public:
  RequestError(Failure failure, const std::string& message)
      : std::runtime_error(message), failure_(failure) {}
  Failure failure() const { return failure_; }

  int status = 0;          ///< what Failure::malformed gives
  double retry_after = 0;  ///< seconds, of Failure::overloaded
  std::string allow = {};  ///< methods, of Failure::method

 private:
  Failure failure_;
};

/// What became of a job, or was thrown on the way, in a client's words.
RequestError request_error(const std::exception_ptr& thrown);

/// Says which protocol's form an error's body has.
enum class WireFormat { tei, kserve, openai };
std::string error_body(WireFormat format, const RequestError& error);
int status_of(const RequestError& error);

}  // namespace hone::serve
