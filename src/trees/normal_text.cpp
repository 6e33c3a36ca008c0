#include "trees/normal_text.h"

#include "base/utf8.h"
#include "text/unicode.h"

namespace hone::trees {
namespace {

/// Calls take(code, place) for each character that is compared.
template <typename Take>
void each_normal(std::string_view text, Take take) {
  const text::Unicode& unicode = text::Unicode::tables();
  uint32_t memory[3];
  uint32_t place = 0;
  for (size_t at = 0; at < text.size(); ++place) {
    const Utf8Char c = decode_utf8(text, at);
    at += c.size;
    switch (c.code) {
      case U'"':
      case 0x201C:  // double quotation marks, left and right
      case 0x201D:
        take(U'\'', place);
        take(U'\'', place);
        break;
      case U'`':
      case 0x2018:  // single quotation marks, left and right
      case 0x2019:
        take(U'\'', place);
        break;
      default:
        if (unicode.is(c.code, text::kWhitespace)) break;
        if (unicode.is(c.code, text::kLowercases)) {
          for (const uint32_t lower : unicode.lowercase(c.code, memory)) take(lower, place);
        } else {
          take(c.code, place);
        }
    }
  }
}

}  // namespace

std::vector<NormalChar> normal_chars(std::string_view text) {
  std::vector<NormalChar> chars;
  each_normal(text, [&](char32_t code, uint32_t place) { chars.push_back({code, place}); });
  return chars;
}

std::string normal_key(std::string_view text) {
  std::string key;
  each_normal(text, [&](char32_t code, uint32_t) { append_utf8(code, key); });
  return key;
}

}  // namespace hone::trees
