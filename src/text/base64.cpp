#include "text/base64.h"

#include <cstdint>

#include "base/error.h"

namespace hone::text {
namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

std::string decode_base64(std::string_view text, const std::string& file,
                          const std::string& field) {
  const size_t size = text.size();
  size_t padding = 0;
  while (padding < 2 && padding < size && text[size - 1 - padding] == '=') ++padding;
  if (size % 4 != 0) fail(ErrorKind::bad_file, "{}: {}: not base64 ({} bytes)", file, field, size);
  std::string out;
  out.reserve(size / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < size; ++i) {
    const int value = i >= size - padding ? 0 : value_of(text[i]);
    if (value < 0) {
      fail(ErrorKind::bad_file, "{}: {}: not base64, got {}", file, field,
           quote(text.substr(i, 1)));
    }
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bits >> shift & 0xFF);
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace hone::text
