#pragma once

#include <cstdint>

namespace hone::text {

/// A character as GPT-2's expression sees it.
enum class ByteLevelClass : uint8_t { other, letter, number, space };

extern const uint32_t byte_level_block_count;
extern const uint8_t byte_level_blocks[];  ///< block of each 256 code points
extern const uint64_t byte_level_words[];  ///< 2 bits a code point, 8 words a block

inline ByteLevelClass byte_level_class(char32_t code) {
  if (code >> 8 >= byte_level_block_count) return ByteLevelClass::other;
  const uint64_t word = byte_level_words[byte_level_blocks[code >> 8] * 8 + (code >> 5 & 7)];
  return static_cast<ByteLevelClass>(word >> (code & 31) * 2 & 3);
}

}  // namespace hone::text
