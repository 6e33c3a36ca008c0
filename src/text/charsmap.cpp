#include "text/charsmap.h"

#include "base/error.h"
#include "base/utf8.h"
#include "text/charsmap_graphemes.h"

namespace hone::text {
namespace {

uint32_t little_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// Fields of a Darts unit.
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t label(uint32_t unit) { return unit & (0x80000000u | 0xFF); }
uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFFu; }
uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200u) >> 6); }

}  // namespace

CharsMap::CharsMap(std::string_view blob, const std::string& file) {
  const size_t trie_bytes = blob.size() >= 4 ? little_endian(blob, 0) : 0;
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > blob.size() - 4) {
    fail(ErrorKind::bad_file, "{}: precompiled_charsmap: a trie of {} bytes does not fit, got {}",
         file, trie_bytes, blob.size());
  }
  units_.resize(trie_bytes / 4);
  for (size_t i = 0; i < units_.size(); ++i) units_[i] = little_endian(blob, 4 + i * 4);
  replacements_ = blob.substr(4 + trie_bytes);
  if (!is_valid_utf8(replacements_)) {
    fail(ErrorKind::bad_file, "{}: precompiled_charsmap: replacements are not UTF-8", file);
  }
  for (size_t c = 0; c < ascii_stays_.size(); ++c) {
    const char character = static_cast<char>(c);
    ascii_stays_[c] = character != '\r' && !find(std::string_view(&character, 1));
  }
}

std::optional<std::string_view> CharsMap::find(std::string_view chunk) const {
  uint32_t at = offset(units_[0]);
  for (const char c : chunk) {
    const uint32_t byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    at ^= byte;
    if (at >= units_.size() || label(units_[at]) != byte) return std::nullopt;
    const uint32_t unit = units_[at];
    at ^= offset(unit);
    if (!has_leaf(unit)) continue;
    const size_t begin = at < units_.size() ? value(units_[at]) : SIZE_MAX;
    if (begin > replacements_.size()) return std::nullopt;
    const std::string_view tail = std::string_view(replacements_).substr(begin);
    const bool inside = !tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80;
    if (inside) return std::nullopt;
    return tail.substr(0, tail.find('\0'));
  }
  return std::nullopt;
}

bool CharsMap::normalize(std::string_view text, Edit edit) const {
  constexpr size_t whole_limit = 6;  // the reference implementation's limit
  bool changed = false;
  const auto replace = [&](size_t begin, size_t end) {
    const auto replacement = find(text.substr(begin, end - begin));
    if (replacement) edit(begin, end, *replacement);
    changed |= replacement.has_value();
    return replacement.has_value();
  };
  for (size_t at = 0; at < text.size();) {
    const auto is_plain = [&](size_t i) {
      return i == text.size() || static_cast<unsigned char>(text[i]) < 0x80;
    };
    if (is_plain(at) && ascii_stays_[static_cast<unsigned char>(text[at])] && is_plain(at + 1)) {
      ++at;  // a cluster of its own
      continue;
    }
    const size_t end = grapheme_end(text, at);
    if (end - at < whole_limit && replace(at, end)) {
      at = end;
      continue;
    }
    while (at < end) {
      const size_t next = at + decode_utf8(text, at).size;
      replace(at, next);
      at = next;
    }
  }
  return changed;
}

}  // namespace hone::text
