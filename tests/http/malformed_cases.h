#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace hone::http {

/// A request that no server may take, with what it is refused by.
struct MalformedCase {
  std::string name;
  std::string bytes;
  int status = 400;
};

inline void PrintTo(const MalformedCase& malformed, std::ostream* out) { *out << malformed.name; }

inline std::string with_fields(const std::string& fields, const std::string& body = "") {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + body;
}

inline std::string with_chunks(const std::string& chunks) {
  return with_fields("Transfer-Encoding: chunked\r\n", chunks);
}

inline std::string with_line(const std::string& line) { return line + "\r\nHost: a\r\n\r\n"; }

inline std::vector<MalformedCase> malformed_cases() {
  using std::string_literals::operator""s;
  return {
      {"length_and_chunked",
       with_fields("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {"chunked_and_length",
       with_fields("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")},
      {"differing_lengths", with_fields("Content-Length: 2\r\nContent-Length: 3\r\n", "ab")},
      {"repeated_length", with_fields("Content-Length: 2\r\nContent-Length: 2\r\n", "ab")},
      {"list_of_lengths", with_fields("Content-Length: 2, 2\r\n", "ab")},
      {"negative_length", with_fields("Content-Length: -2\r\n", "ab")},
      {"signed_length", with_fields("Content-Length: +2\r\n", "ab")},
      {"hexadecimal_length", with_fields("Content-Length: 0x2\r\n", "ab")},
      {"empty_length", with_fields("Content-Length:\r\n", "ab")},
      {"overflowing_length", with_fields("Content-Length: 18446744073709551618\r\n", "ab")},
      {"bare_lf_in_request_line", "GET / HTTP/1.1\nHost: a\r\n\r\n"},
      {"bare_lf_in_field", "GET / HTTP/1.1\r\nHost: a\n\r\n"},
      {"bare_lf_at_end", "GET / HTTP/1.1\r\nHost: a\r\n\n"},
      {"bare_cr_in_field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"},
      {"nul_in_value", with_fields("X: a\0b\r\n"s)},
      {"nul_in_name", with_fields("X\0Y: a\r\n"s)},
      {"nul_in_target", with_line("GET /a\0b HTTP/1.1"s)},
      {"control_character_in_value", with_fields("X: a\x01"
                                                 "b\r\n")},
      {"delete_character_in_value", with_fields("X: a\x7f\r\n")},
      {"vertical_tab_before_coding", with_fields("Transfer-Encoding:\x0b"
                                                 "chunked\r\n")},
      {"unknown_coding", with_fields("Transfer-Encoding: gzip\r\n")},
      {"misspelt_coding", with_fields("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")},
      {"coding_before_chunked", with_fields("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")},
      {"chunked_not_last", with_fields("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n")},
      {"chunked_twice", with_fields("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n")},
      {"two_codings_fields",
       with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n")},
      {"empty_coding", with_fields("Transfer-Encoding:\r\n", "0\r\n\r\n")},
      {"chunked_in_http10",
       "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"folded_field", with_fields("X: a\r\n b\r\n")},
      {"folded_field_with_tab", with_fields("X: a\r\n\tb\r\n")},
      {"folded_coding", with_fields("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n")},
      {"first_field_begins_with_space", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
      {"no_host", "GET / HTTP/1.1\r\nX: a\r\n\r\n"},
      {"two_hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
      {"two_hosts_in_http10", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"},
      {"host_with_space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
      {"host_with_path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
      {"host_with_user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"},
      {"space_before_colon", with_fields("X : a\r\n")},
      {"space_before_colon_of_length", with_fields("Content-Length : 2\r\n", "ab")},
      {"no_colon", with_fields("X\r\n")},
      {"empty_name", with_fields(": a\r\n")},
      {"name_is_no_token", with_fields("X(: a\r\n")},
      {"method_is_no_token", with_line("G@T / HTTP/1.1")},
      {"no_method", with_line("/ HTTP/1.1")},
      {"space_before_method", with_line(" GET / HTTP/1.1")},
      {"no_version", with_line("GET /")},
      {"no_target", with_line("GET  HTTP/1.1")},
      {"space_in_target", with_line("GET /a b HTTP/1.1")},
      {"two_spaces", with_line("GET  / HTTP/1.1")},
      {"tab_for_space", with_line("GET\t/\tHTTP/1.1")},
      {"space_behind_version", with_line("GET / HTTP/1.1 ")},
      {"small_version", with_line("GET / http/1.1")},
      {"long_version", with_line("GET / HTTP/1.10")},
      {"version_2", with_line("GET / HTTP/2.0"), 505},
      {"http2_preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"relative_target", with_line("GET a HTTP/1.1")},
      {"fragment_in_target", with_line("GET /a#b HTTP/1.1")},
      {"bytes_in_target", with_line("GET /\xc3\xa4 HTTP/1.1")},
      {"asterisk_for_get", with_line("GET * HTTP/1.1")},
      {"authority_for_get", with_line("GET a:80 HTTP/1.1")},
      {"other_scheme", with_line("GET ftp://a/ HTTP/1.1")},
      {"no_authority", with_line("GET http:///a HTTP/1.1")},
      {"user_in_authority", with_line("GET http://u@a/ HTTP/1.1")},
      {"path_for_connect", with_line("CONNECT /a HTTP/1.1")},
      {"two_empty_lines_first", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"chunk_end_missing", with_chunks("2\r\nabX\r\n0\r\n\r\n")},
      {"chunk_too_long", with_chunks("2\r\nabc\r\n0\r\n\r\n")},
      {"chunk_end_bare_lf", with_chunks("2\r\nab\n0\r\n\r\n")},
      {"chunk_line_bare_lf", with_chunks("2\nab\r\n0\r\n\r\n")},
      {"chunk_line_bare_cr", with_chunks("2\rab\r\n0\r\n\r\n")},
      {"chunk_size_empty", with_chunks("\r\nab\r\n0\r\n\r\n")},
      {"chunk_size_signed", with_chunks("+2\r\nab\r\n0\r\n\r\n")},
      {"chunk_size_negative", with_chunks("-2\r\nab\r\n0\r\n\r\n")},
      {"chunk_size_prefixed", with_chunks("0x2\r\nab\r\n0\r\n\r\n")},
      {"chunk_size_no_number", with_chunks("zz\r\nab\r\n0\r\n\r\n")},
      {"chunk_size_spaced", with_chunks(" 2\r\nab\r\n0\r\n\r\n")},
      {"chunk_size_overflows", with_chunks("10000000000000002\r\nab\r\n0\r\n\r\n")},
      {"chunk_extension_malformed", with_chunks("2;=\r\nab\r\n0\r\n\r\n")},
      {"chunk_extension_lf", with_chunks("2;a=\"\n\"\r\nab\r\n0\r\n\r\n")},
      {"chunk_extension_nul", with_chunks("2;a=\"\0\"\r\nab\r\n0\r\n\r\n"s)},
      {"chunk_extension_unquoted", with_chunks("2;a=\"b\r\nab\r\n0\r\n\r\n")},
      {"chunk_extension_escapes_quote", with_chunks("2;a=\"b\\\"\r\nab\r\n0\r\n\r\n")},
      {"chunk_extension_too_long", with_chunks("2;a=" + std::string(20'000, 'b') + "\r\nab\r\n")},
      {"chunk_extension_endless", with_chunks("2;a=" + std::string(100'000, 'b'))},
      {"trailer_too_large", with_chunks("0\r\nX: " + std::string(20'000, 'b'))},
      {"trailer_malformed", with_chunks("0\r\nX\r\n\r\n")},
      {"trailer_bare_lf", with_chunks("0\r\nX: a\n\r\n\r\n")},
      {"trailer_with_length", with_chunks("0\r\nContent-Length: 3\r\n\r\n")},
      {"unknown_expectation", with_fields("Expect: cake\r\n"), 417},
      {"length_over_limit", with_fields("Content-Length: 100001\r\n"), 413},
      {"chunk_over_limit", with_chunks("186a1\r\n"), 413},
      {"chunks_over_limit", with_chunks("1\r\na\r\n186a0\r\n"), 413},
      {"header_over_limit", with_fields("X: " + std::string(16 * 1024, 'a') + "\r\n"), 431},
      {"endless_request_line", "GET /" + std::string(17'000, 'a'), 431},
      {"tls_hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s},
  };
}

}  // namespace hone::http
