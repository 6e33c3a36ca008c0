#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::trees {

/// A character of a text as trees and texts are compared: without spaces, in lower case, with plain
/// quotes (a double one is two single ones).
struct NormalChar {
  char32_t code;
  uint32_t place;  ///< the code point of the text that it stands for
};

/// Gives a text's characters for comparison; a code point may give none, or several.
std::vector<NormalChar> normal_chars(std::string_view text);

/// Gives the same as UTF-8: texts that differ in spaces, case and style of quotes alone have one
/// key.
std::string normal_key(std::string_view text);

}  // namespace hone::trees
