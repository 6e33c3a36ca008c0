#include "base/error.h"

#include "base/utf8.h"

namespace hone {

std::string quote(std::string_view value, size_t limit) {
  std::string out = "'";
  size_t at = 0;
  while (at < value.size() && at < limit) {
    const Utf8Char c = decode_utf8(value, at);
    if (!c.valid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(value[at]));
      at += 1;
      continue;
    }
    if (c.code < 0x20 || c.code == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.code));
    } else {
      out.append(value.substr(at, c.size));
    }
    at += c.size;
  }
  if (at < value.size()) out += "…";
  return out + "'";
}

}  // namespace hone
