#include "http/server/request_reader.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <limits>

namespace hone::http {
namespace {

namespace beast_http = boost::beast::http;

/// What a body's memory is before any of it came: a length is only a claim.
constexpr uint64_t kFirstBodyBytes = 64 * 1024;

Refusal refusal_of(const boost::beast::error_code& error) {
  if (error == beast_http::error::body_limit) return {413, "the body is too large"};
  if (error == beast_http::error::bad_chunk) return {400, "a malformed chunk"};
  if (error == beast_http::error::bad_chunk_extension) return {400, "a malformed chunk extension"};
  if (error == beast_http::error::bad_line_ending) return {400, "a CR without LF"};
  return {400, "a malformed request"};
}

/// Whether the header said what its sender meant, and that is refused; then who sent it is read,
/// too.
bool is_well_formed(const Refusal& refusal) {
  return refusal.status == 413 || refusal.status == 417;  // the body's length, an expectation
}

}  // namespace

RequestReader::RequestReader(const Limits& limits) : limits_(limits) {
  body_limit(limits.body_bytes);
  header_limit(std::numeric_limits<uint32_t>::max());  // The scanner keeps to ours.
}

RequestReader::Status RequestReader::read(std::string_view& pending) {
  if (!header_complete_) {
    const Status status = read_header(pending);
    if (!header_complete_ || status != Status::more) return status;
  }
  return read_body(pending);
}

RequestReader::Status RequestReader::read_header(std::string_view& pending) {
  framing_.refusal = scanner_.scan(pending, limits_);
  if (framing_.refusal) return Status::refused;
  if (!scanner_.complete()) return Status::more;
  const std::string_view header = scanner_.header(pending);
  framing_ = check_header(header, limits_);
  if (framing_.refusal && !is_well_formed(framing_.refusal)) return Status::refused;
  request_.arrived = Clock::now();
  request_.method = framing_.method;
  request_.path = framing_.path;
  request_.query = framing_.query;
  framing_.method = framing_.path = framing_.query = {};
  error_code error;
  const size_t taken = parse(header, error);
  if (framing_.refusal) return Status::refused;
  // The two readings of one header agree, or it is nobody's request.
  if (!error && (taken != header.size() || chunked() != framing_.chunked ||
                 content_length().value_or(0) != framing_.length.value_or(0))) {
    error = beast_http::error::bad_value;
  }
  if (error) {
    request_ = {};
    return refuse(error);
  }
  header_complete_ = true;
  keep_alive_ = basic_parser::keep_alive();
  pending.remove_prefix(scanner_.end());
  return is_done() ? Status::complete : Status::more;
}

/// Each call of the parser takes some of the body's data, or one whole piece of what delimits it: a
/// chunk's first line, or the last one with the trailer.
RequestReader::Status RequestReader::read_body(std::string_view& pending) {
  while (!is_done()) {
    if (pending.empty()) return Status::more;
    // Having waited with "0\r\n", Beast 1.81 asserts that two bytes more come at once.
    if (waits_ && pending.size() == 4 && pending.starts_with("0\r\n")) return Status::more;
    if (chunked() && chunk_left_ == 0 && !chunk_line_is_plain(pending)) {
      return refuse(beast_http::error::bad_chunk_extension);
    }
    error_code error;
    took_data_ = false;
    const size_t taken = parse(pending, error);
    waits_ = error == beast_http::error::need_more;
    if (error && !waits_) return refuse(error);
    if (!took_data_ && (waits_ ? pending.size() : taken) > limits_.header_bytes) {
      framing_.refusal = {400, "a chunk's extensions or the trailer are too large"};
      return Status::refused;
    }
    pending.remove_prefix(taken);
    if (waits_) return Status::more;
  }
  return Status::complete;
}

size_t RequestReader::parse(std::string_view bytes, error_code& error) {
  return put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
}

RequestReader::Status RequestReader::refuse(const error_code& error) {
  framing_.refusal = refusal_of(error);
  return Status::refused;
}

void RequestReader::on_field_impl(beast_http::field, string_view name, string_view value,
                                  error_code&) {
  if (header_complete_) return;  // A trailer's fields are nobody's.
  request_.headers.push_back({std::string(name), std::string(value)});
}

void RequestReader::on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) {
  if (length) request_.body.reserve(std::min(*length, kFirstBodyBytes));
}

std::size_t RequestReader::on_body_impl(string_view body, error_code&) {
  took_data_ = true;
  request_.body.append(body.data(), body.size());
  return body.size();
}

void RequestReader::on_chunk_header_impl(std::uint64_t size, string_view extensions,
                                         error_code& error) {
  chunk_left_ = size;
  extension_bytes_ += extensions.size();
  if (extension_bytes_ > limits_.header_bytes) error = beast_http::error::bad_chunk_extension;
}

std::size_t RequestReader::on_chunk_body_impl(std::uint64_t, string_view body, error_code&) {
  took_data_ = true;
  chunk_left_ -= body.size();
  request_.body.append(body.data(), body.size());
  return body.size();
}

}  // namespace hone::http
