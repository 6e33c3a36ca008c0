#include "serve/errors.h"

#include <array>
#include <new>

#include "base/error.h"
#include "base/json_text.h"
#include "serve/served_model.h"

namespace hone::serve {
namespace {

constexpr std::array<FailureFacts, kFailures> kFacts = {{
    {422, "Validation", "validation"},
    {422, "Validation", "batch_size"},
    {400, "Empty", "empty"},
    {422, "Tokenizer", "tokenizer"},
    {424, "Backend", "model_type"},
    {429, "Overloaded", "overloaded"},
    {424, "Backend", "backend"},
    {503, "Unhealthy", "unhealthy"},
    {504, "Timeout", "late"},
    {499, "Abandoned", "abandoned"},
    {401, "Unauthorized", "unauthorized"},
    {404, "NotFound", "not_found"},
    {405, "MethodNotAllowed", "method"},
    {400, "Validation", "malformed"},
    {500, "Internal", "internal"},
}};

Failure failure_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::bad_file:
    case ErrorKind::unsupported:
      return Failure::validation;
    case ErrorKind::io:
    case ErrorKind::memory:
    case ErrorKind::failed:
      return Failure::backend;
    case ErrorKind::internal:
      return Failure::internal;
  }
  return Failure::internal;
}

}  // namespace

const FailureFacts& facts(Failure failure) { return kFacts[static_cast<size_t>(failure)]; }

RequestError request_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const RequestError& error) {
    return error;
  } catch (const JobLate&) {
    return {Failure::late, "the request's time was over before it was computed"};
  } catch (const JobAbandoned&) {
    return {Failure::abandoned, "the client has gone"};
  } catch (const JobUnserved&) {
    return {Failure::unhealthy, "no device is left that works"};
  } catch (const Error& error) {
    return {failure_of(error.kind()), error.what()};
  } catch (const std::bad_alloc&) {
    return {Failure::backend, "not enough memory"};
  } catch (const std::exception& error) {
    return {Failure::internal, error.what()};
  } catch (...) {
    return {Failure::internal, "unknown"};
  }
}

int status_of(const RequestError& error) {
  return error.status != 0 ? error.status : facts(error.failure()).status;
}

std::string error_body(WireFormat format, const RequestError& error) {
  std::string out = format == WireFormat::openai ? "{\"message\":" : "{\"error\":";
  append_json(out, std::string_view(error.what()));
  if (format == WireFormat::tei) {
    out += ",\"error_type\":";
    append_json(out, facts(error.failure()).type);
  } else if (format == WireFormat::openai) {
    out += ",\"code\":";
    append_json(out, status_of(error));
    out += ",\"type\":";
    append_json(out, facts(error.failure()).type);
  }
  out += '}';
  return out;
}

}  // namespace hone::serve
