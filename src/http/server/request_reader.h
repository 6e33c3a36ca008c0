#pragma once

#include <boost/beast/http/basic_parser.hpp>

#include "http/http.h"
#include "http/server/framing.h"

namespace hone::http {

/// Reads one request from bytes that come in pieces: the strict checks of framing.h, then Beast's
/// parser. What follows the request is left alone.
class RequestReader final : private boost::beast::http::basic_parser<true> {
 public:
  enum class Status { more, complete, refused };

  explicit RequestReader(const Limits& limits);

  /// Takes from the front of `pending` what it can use; what it leaves must come again, with more
  /// behind it, unless the request is complete or refused. It is not called after that.
  Status read(std::string_view& pending);

  /// Whether the header is there, which says all but the body.
  bool header_complete() const { return header_complete_; }
  bool expects_continue() const { return framing_.expects_continue; }
  bool http11() const { return framing_.http11; }
  /// Whether the client wants to send further requests on its connection.
  bool keep_alive() const { return keep_alive_; }
  const Refusal& refusal() const { return framing_.refusal; }
  /// Gives what is known of a request; all of it, once it is complete.
  Request take_request() { return std::move(request_); }

 private:
  using string_view = boost::beast::string_view;
  using error_code = boost::beast::error_code;

  Status read_header(std::string_view& pending);
  Status read_body(std::string_view& pending);
  /// Hands bytes to the parser; gives how many it took.
  size_t parse(std::string_view bytes, error_code& error);
  Status refuse(const error_code& error);

  void on_request_impl(boost::beast::http::verb, string_view, string_view, int,
                       error_code&) override {}
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(boost::beast::http::field, string_view name, string_view value,
                     error_code&) override;
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override;
  std::size_t on_body_impl(string_view body, error_code&) override;
  void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code&) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view body, error_code&) override;
  void on_finish_impl(error_code&) override {}

  const Limits limits_;
  HeaderScanner scanner_;
  Framing framing_;  ///< has no views once the header is read
  Request request_;
  size_t extension_bytes_ = 0;  ///< sum over all chunks so far
  uint64_t chunk_left_ = 0;     ///< bytes of the current chunk that are to come
  bool header_complete_ = false;
  bool keep_alive_ = false;
  bool took_data_ = false;  ///< the parser, in its last call
  bool waits_ = false;      ///< the parser, for more than it was given last
};

}  // namespace hone::http
