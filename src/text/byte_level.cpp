#include "text/byte_level.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/byte_level_table.h"

namespace hone::text {
namespace {

struct Alphabet {
  std::array<char32_t, 256> codes;
  std::array<uint8_t, 512> bytes{};  ///< the byte that a code below 512 stands for, where known
  std::array<bool, 512> known{};
  std::array<std::string, 256> utf8;

  Alphabet() {
    char32_t next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool visible = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      codes[byte] = visible ? byte : next++;
      bytes[codes[byte]] = static_cast<uint8_t>(byte);
      known[codes[byte]] = true;
      append_utf8(codes[byte], utf8[byte]);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

/// Class of an ASCII byte, so that the usual text needs no decoding.
constexpr std::array<ByteLevelClass, 128> ascii_classes = [] {
  std::array<ByteLevelClass, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    const int lower = c | 0x20;
    if (lower >= 'a' && lower <= 'z') classes[c] = ByteLevelClass::letter;
    if (c >= '0' && c <= '9') classes[c] = ByteLevelClass::number;
    if (c == ' ' || (c >= '\t' && c <= '\r')) classes[c] = ByteLevelClass::space;
  }
  return classes;
}();

struct Classified {
  ByteLevelClass kind;
  uint8_t size;
};

Classified classify(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {ascii_classes[lead], 1};
  const Utf8Char c = decode_utf8(text, at);
  return {byte_level_class(c.code), c.size};
}

/// End of the run of `kind` that starts at or before `at`.
size_t run_end(std::string_view text, size_t at, ByteLevelClass kind) {
  while (at < text.size()) {
    const Classified c = classify(text, at);
    if (c.kind != kind) break;
    at += c.size;
  }
  return at;
}

/// Length of 's 't 're 've 'm 'll 'd at `at`, where text[at] is the apostrophe, else 0.
size_t contraction(std::string_view text, size_t at) {
  const char first = at + 1 < text.size() ? text[at + 1] : '\0';
  const char second = at + 2 < text.size() ? text[at + 2] : '\0';
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  return 0;
}

/// Gives the end of the word that starts with the whitespace character at `at`, which no word takes
/// along: the run of whitespace, less its last character where something follows.
size_t space_end(std::string_view text, size_t at) {
  size_t last = at;
  size_t end = at;
  while (end < text.size()) {
    const Classified c = classify(text, end);
    if (c.kind != ByteLevelClass::space) break;
    last = end;
    end += c.size;
  }
  return end == text.size() || last == at ? end : last;
}

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace

const std::array<char32_t, 256>& byte_level_alphabet() { return alphabet().codes; }

int byte_level_byte(char32_t code) {
  const Alphabet& a = alphabet();
  return code < 512 && a.known[code] ? a.bytes[code] : -1;
}

void append_byte_level(std::string_view raw, std::string& out) {
  const Alphabet& a = alphabet();
  for (const char c : raw) out += a.utf8[static_cast<unsigned char>(c)];
}

std::string_view ByteLevelSplitter::next() {
  const size_t begin = at_;
  if (begin >= text_.size()) return {};
  Classified c = classify(text_, begin);
  size_t after = begin + c.size;
  if (text_[begin] == ' ' && after < text_.size()) {
    const Classified following = classify(text_, after);
    if (following.kind != ByteLevelClass::space) {
      c = following;
      after += c.size;
    }
  } else if (text_[begin] == '\'') {
    if (const size_t length = contraction(text_, begin); length > 0) {
      at_ = begin + length;
      return text_.substr(begin, length);
    }
  }
  at_ = c.kind == ByteLevelClass::space ? space_end(text_, begin) : run_end(text_, after, c.kind);
  return text_.substr(begin, at_ - begin);
}

EdgeSpace edge_space(std::string_view token) {
  const char32_t visible_space = alphabet().codes[' '];
  EdgeSpace space;
  bool leading = true;
  for (size_t at = 0; at < token.size();) {
    const Utf8Char c = decode_utf8(token, at);
    at += c.size;
    if (c.code == visible_space || is_white_space(c.code)) {
      space.leading += leading;
      ++space.trailing;
    } else {
      leading = false;
      space.trailing = 0;
    }
  }
  return space;
}

void trim_offsets(EdgeSpace space, bool first, bool add_prefix_space, uint32_t& begin,
                  uint32_t& end) {
  // A single space at the start may be the one that was added, and stays.
  const bool added = add_prefix_space && (first || begin == 0) && space.leading == 1;
  if (!added) begin = std::min(begin + space.leading, end);
  if (space.trailing > 0 && end >= space.trailing) end = std::max(end - space.trailing, begin);
}

}  // namespace hone::text
