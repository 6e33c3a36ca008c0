#include "base/json_text.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace hone {
namespace {

template <typename Number>
void append_number(std::string& out, Number value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_escape(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  size_t plain = 0;  // start of what can be copied as it is
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
      ++at;
      continue;
    }
    const Utf8Char decoded = decode_utf8(text, at);
    if (c >= 0x80 && decoded.valid) {
      at += decoded.size;
      continue;
    }
    out.append(text, plain, at - plain);
    if (decoded.valid) {
      append_escape(out, c);
    } else {
      append_utf8(0xfffd, out);
    }
    at += decoded.size;
    plain = at;
  }
  out.append(text, plain);
  out += '"';
}

void append_json(std::string& out, float value) {
  if (!std::isfinite(value)) {
    out += "null";
  } else {
    append_number(out, value);
  }
}

void append_json(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
  } else {
    append_number(out, value);
  }
}

void append_json_integer(std::string& out, int64_t value) { append_number(out, value); }

}  // namespace hone
