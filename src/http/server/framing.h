#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// What a request's header must be before a parser sees it: the rules of RFC 9112, taken strictly,
/// so that no proxy before us can see other requests in the same bytes than we do. All of it works
/// on plain text and knows no socket.
namespace hone::http {

struct Limits {
  size_t header_bytes;  ///< a header's, its request line and all empty lines included
  size_t header_fields;
  uint64_t body_bytes;
};

/// Why a request is not taken: a status and one line that stays for good. Status 0: it is taken.
struct Refusal {
  int status = 0;
  std::string_view reason = {};
  explicit operator bool() const { return status != 0; }
};

/// Finds a header's end in bytes that come in pieces, and refuses on the way what no header may
/// hold: ends of lines other than CRLF, control characters, folded lines, too many bytes or fields.
class HeaderScanner {
 public:
  /// `received` is all that came of the request so far; what earlier calls saw is not read again.
  Refusal scan(std::string_view received, const Limits& limits);
  bool complete() const { return end_ != 0; }
  /// The header in what scan() was given, its empty line included, once it is complete. An empty
  /// line before the request is not part of it.
  std::string_view header(std::string_view received) const {
    return received.substr(begin_, end_ - begin_);
  }
  size_t end() const { return end_; }

 private:
  Refusal end_line(const Limits& limits);

  size_t position_ = 0;    ///< first byte that was not looked at
  size_t line_start_ = 0;  ///< begin of the line that position_ is in
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t lines_ = 0;  ///< complete ones, the request line among them
  bool after_cr_ = false;
};

/// What a header says of its request's form. The views point into the header.
struct Framing {
  Refusal refusal;
  std::string_view method;
  std::string_view path;   ///< the target's in any of its forms; CONNECT's is all path
  std::string_view query;  ///< what stands behind the "?"
  bool http11 = false;
  bool chunked = false;
  bool expects_continue = false;
  std::optional<uint64_t> length;  ///< Content-Length
};

/// Checks a complete header that the scanner let through.
Framing check_header(std::string_view header, const Limits& limits);

/// Whether the line that begins a chunk ends where it seems to: its extensions hold no control
/// character, and a quoted one ends before the line does. `received` begins with the line, or with
/// the end of the chunk before it; where the line is not complete, nothing is said against it yet.
bool chunk_line_is_plain(std::string_view received);

}  // namespace hone::http
