#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

struct Utf8Char {
  char32_t code;  ///< U+FFFD where the bytes are not UTF-8
  uint8_t size;   ///< bytes to step over; for invalid input the maximal subpart, at least 1
  bool valid;
};

/// Decodes the character at `at` (at < text.size()). Invalid bytes are read as Python's and
/// Rust's decoders with replacement read them: one U+FFFD for each maximal subpart.
Utf8Char decode_utf8(std::string_view text, size_t at);

void append_utf8(char32_t code, std::string& out);

bool is_valid_utf8(std::string_view text);

/// Gives `text` with every invalid subpart replaced by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

/// Counts the code points of valid UTF-8.
int64_t count_code_points(std::string_view text);

}  // namespace hone
