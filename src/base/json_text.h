#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

/// These functions write JSON straight to its text, for output of which there may be millions of
/// lines.

/// Appends a string in quotes. What is not UTF-8 becomes U+FFFD.
void append_json(std::string& out, std::string_view text);
/// Appends the shortest decimal that reads back as the same value; null where it is not finite.
void append_json(std::string& out, float value);
void append_json(std::string& out, double value);
void append_json_integer(std::string& out, int64_t value);
void append_json(std::string& out, std::integral auto value) {
  append_json_integer(out, static_cast<int64_t>(value));
}
void append_json(std::string& out, bool value) = delete;

/// Appends `[a,b,...]` of anything that append_json takes.
template <typename List>
void append_json_list(std::string& out, const List& values) {
  char before = '[';
  for (const auto& value : values) {
    out += before;
    append_json(out, value);
    before = ',';
  }
  if (before == '[') out += before;
  out += ']';
}

}  // namespace hone
