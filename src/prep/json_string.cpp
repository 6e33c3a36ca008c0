#include "prep/json_string.h"

#include <charconv>
#include <cstring>

#include "base/utf8.h"

namespace hone::prep {
namespace {

const char* find_byte(const char* from, const char* end, char byte) {
  return static_cast<const char*>(std::memchr(from, byte, static_cast<size_t>(end - from)));
}

/// Reads four hexadecimal digits; -1 where they are none.
int32_t hex_unit(const char* at, const char* end) {
  if (end - at < 4) return -1;
  uint32_t unit = 0;
  const auto [stop, error] = std::from_chars(at, at + 4, unit, 16);
  return error == std::errc() && stop == at + 4 ? static_cast<int32_t>(unit) : -1;
}

constexpr bool is_high(int32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
constexpr bool is_low(int32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

/// Appends the code point of an escape \u whose digits are at `at`, and steps over it and the
/// second half of a pair.
bool take_code_point(const char*& at, const char* end, std::string& out) {
  const int32_t first = hex_unit(at, end);
  if (first < 0) return false;
  at += 4;
  if (is_high(first) && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
    const int32_t second = hex_unit(at + 2, end);
    if (is_low(second)) {
      at += 6;
      append_utf8(static_cast<char32_t>(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)),
                  out);
      return true;
    }
  }
  const bool half = is_high(first) || is_low(first);
  append_utf8(half ? U'\uFFFD' : static_cast<char32_t>(first), out);
  return true;
}

/// Appends what the escape behind a backslash stands for.
bool take_escape(const char*& at, const char* end, std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  if (at == end) return false;
  const char name = *at++;
  if (name == 'u') return take_code_point(at, end, out);
  const size_t found = kNames.find(name);
  if (found == kNames.npos) return false;
  out += kMeant[found];
  return true;
}

}  // namespace

std::string_view read_json_string(const char* from, const char* end, std::string& memory,
                                  bool& good) {
  const char* quote = find_byte(from, end, '"');
  good = quote != nullptr;
  if (!good) return {};
  const char* escape = find_byte(from, quote, '\\');
  if (!escape) return {from, static_cast<size_t>(quote - from)};
  memory.clear();
  while (escape) {
    memory.append(from, escape);
    from = escape + 1;
    good = take_escape(from, end, memory);
    if (!good) return {};
    if (from > quote) quote = find_byte(from, end, '"');  // the quote was an escaped one
    good = quote != nullptr;
    if (!good) return {};
    escape = find_byte(from, quote, '\\');
  }
  memory.append(from, quote);
  return memory;
}

}  // namespace hone::prep
