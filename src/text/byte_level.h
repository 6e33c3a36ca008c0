#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::text {

/// GPT-2's alphabet: the visible character that stands for each byte.
const std::array<char32_t, 256>& byte_level_alphabet();
/// The byte that a character of the alphabet stands for, or -1.
int byte_level_byte(char32_t code);
/// Appends `raw` in the alphabet; every byte becomes a character of one or two bytes.
void append_byte_level(std::string_view raw, std::string& out);

/// Cuts text (valid UTF-8) by GPT-2's expression
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// with the character classes of the Oniguruma inside `tokenizers`. The words cover the text.
class ByteLevelSplitter {
 public:
  explicit ByteLevelSplitter(std::string_view text) : text_(text) {}
  /// Gives the next word, empty at the end.
  std::string_view next();

 private:
  std::string_view text_;
  size_t at_ = 0;
};

/// Says whether ByteLevel with add_prefix_space puts a space before `text`. The inserted space
/// takes the alignment of the first character; an empty text stays empty.
inline bool needs_prefix_space(std::string_view text) {
  return !text.empty() && text.front() != ' ';
}

/// Space at a token's ends, in characters: what trim_offsets takes off. Depends on the token
/// alone, so a caller may keep it per id.
struct EdgeSpace {
  uint32_t leading = 0;
  uint32_t trailing = 0;
};
EdgeSpace edge_space(std::string_view token);

/// ByteLevel's and Roberta's trim_offsets on one token's offsets (code points). `first` is whether
/// the token is the encoding's first.
void trim_offsets(EdgeSpace space, bool first, bool add_prefix_space, uint32_t& begin,
                  uint32_t& end);

}  // namespace hone::text
