#include "http/server/framing.h"

#include <algorithm>
#include <charconv>

namespace hone::http {
namespace {

constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";
constexpr std::string_view kHostMarks = "-._~%!$&'()*+,;=:[]";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_token_char(char c) {
  return is_letter(c) || is_digit(c) || kTokenMarks.find(c) != std::string_view::npos;
}

bool is_host_char(char c) {
  return is_letter(c) || is_digit(c) || kHostMarks.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

/// `lower` is in small letters.
bool same_word(std::string_view text, std::string_view lower) {
  return std::ranges::equal(
      text, lower, {}, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The target without scheme and authority, where it has them: "http://host/path" is "/path". Gives
/// null where they are malformed.
std::optional<std::string_view> without_authority(std::string_view target) {
  const size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return std::nullopt;
  if (!same_word(target.substr(0, scheme), "http") && !same_word(target.substr(0, scheme), "https"))
    return std::nullopt;
  target.remove_prefix(scheme + 3);
  const std::string_view authority = target.substr(0, target.find_first_of("/?"));
  if (authority.empty() || !std::ranges::all_of(authority, is_host_char)) return std::nullopt;
  return target.substr(authority.size());
}

Refusal read_target(std::string_view target, Framing& framing) {
  const auto visible = [](char c) { return c > ' ' && c < 0x7f && c != '#'; };
  constexpr Refusal kBad = {400, "a malformed request target"};
  if (target.empty() || !std::ranges::all_of(target, visible)) return kBad;
  if (framing.method == "CONNECT") {
    if (!std::ranges::all_of(target, is_host_char)) return kBad;
    framing.path = target;
    return {};
  }
  if (target == "*") {
    if (framing.method != "OPTIONS") return kBad;
    framing.path = target;
    return {};
  }
  if (target.front() != '/') {
    const auto rest = without_authority(target);
    if (!rest) return kBad;
    target = *rest;
  }
  const size_t mark = target.find('?');
  framing.path = target.substr(0, mark);
  if (framing.path.empty()) framing.path = "/";
  if (mark != std::string_view::npos) framing.query = target.substr(mark + 1);
  return {};
}

Refusal read_version(std::string_view version, Framing& framing) {
  framing.http11 = version == "HTTP/1.1";
  if (framing.http11 || version == "HTTP/1.0") return {};
  if (version.size() == 8 && version.starts_with("HTTP/") && is_digit(version[5]) &&
      version[6] == '.' && is_digit(version[7])) {
    return {505, "the HTTP version is neither 1.0 nor 1.1"};
  }
  return {400, "a malformed request line"};
}

Refusal read_request_line(std::string_view line, Framing& framing) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == last) return {400, "a malformed request line"};
  framing.method = line.substr(0, first);
  if (!is_token(framing.method)) return {400, "a malformed method"};
  if (const Refusal refusal = read_version(line.substr(last + 1), framing)) return refusal;
  return read_target(line.substr(first + 1, last - first - 1), framing);
}

/// The fields that a header may have once.
struct Fields {
  std::optional<std::string_view> host, length, coding, expect;
};

Refusal read_field(std::string_view line, Fields& fields) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {400, "a header line without a colon"};
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return {400, "a malformed header name"};
  const std::string_view value = trimmed(line.substr(colon + 1));
  const auto once = [&](std::optional<std::string_view>& field, std::string_view twice) -> Refusal {
    if (field) return {400, twice};
    field = value;
    return {};
  };
  switch (name.size()) {
    case 4:
      return same_word(name, "host") ? once(fields.host, "more than one Host") : Refusal{};
    case 6:
      return same_word(name, "expect") ? once(fields.expect, "more than one Expect") : Refusal{};
    case 14:
      return same_word(name, "content-length") ? once(fields.length, "more than one Content-Length")
                                               : Refusal{};
    case 17:
      return same_word(name, "transfer-encoding")
                 ? once(fields.coding, "more than one Transfer-Encoding")
                 : Refusal{};
    default:
      return {};
  }
}

Refusal read_length(std::string_view text, const Limits& limits, Framing& framing) {
  uint64_t length = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, length);
  if (error != std::errc{} || stop != end) return {400, "a malformed Content-Length"};
  framing.length = length;
  if (length > limits.body_bytes) return {413, "the body is too large"};
  return {};
}

/// How the body is delimited, and what its sender waits for.
Refusal read_framing(const Fields& fields, const Limits& limits, Framing& framing) {
  if (framing.http11 && !fields.host) return {400, "no Host"};
  if (fields.host && !std::ranges::all_of(*fields.host, is_host_char)) {
    return {400, "a malformed Host"};
  }
  if (fields.coding) {
    if (fields.length) return {400, "both Content-Length and Transfer-Encoding"};
    if (!framing.http11) return {400, "Transfer-Encoding in HTTP/1.0"};
    if (!same_word(*fields.coding, "chunked")) return {400, "a transfer coding other than chunked"};
    framing.chunked = true;
  }
  if (fields.length) {
    if (const Refusal refusal = read_length(*fields.length, limits, framing)) return refusal;
  }
  if (fields.expect && framing.http11) {
    if (!same_word(*fields.expect, "100-continue")) return {417, "an unknown expectation"};
    framing.expects_continue = true;
  }
  return {};
}

}  // namespace

Framing check_header(std::string_view header, const Limits& limits) {
  Framing framing;
  Fields fields;
  bool first = true;
  while (!framing.refusal) {
    const size_t end = header.find("\r\n");
    if (end == std::string_view::npos) {
      framing.refusal = {400, "a header without an end"};
    } else if (end == 0) {
      framing.refusal =
          first ? Refusal{400, "an empty header"} : read_framing(fields, limits, framing);
      break;
    } else if (first) {
      framing.refusal = read_request_line(header.substr(0, end), framing);
      first = false;
    } else {
      framing.refusal = read_field(header.substr(0, end), fields);
    }
    header.remove_prefix(std::min(header.size(), end + 2));
  }
  return framing;
}

bool chunk_line_is_plain(std::string_view received) {
  if (received.starts_with("\r\n")) received.remove_prefix(2);
  const size_t end = received.find("\r\n");
  if (end == std::string_view::npos) return true;
  bool quoted = false;
  for (size_t i = 0; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(received[i]);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
    if (byte == '"') quoted = !quoted;
    if (byte == '\\' && quoted) ++i;
  }
  return !quoted;
}

}  // namespace hone::http
