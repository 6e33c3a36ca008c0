#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hone::text {

/// Classes of UAX 29's grapheme rules. Regional indicators are left out: two of them are 8 bytes,
/// and CharsMap asks only for clusters of fewer than 6.
enum class GraphemeClass : uint8_t {
  other,
  control,
  cr,
  lf,
  extend,
  linker,      ///< extends, and links Indic consonants
  non_joiner,  ///< extends, but ends a link (U+200C)
  zwj,
  spacing_mark,
  prepend,
  hangul_l,
  hangul_v,
  hangul_t,
  hangul_lv,
  hangul_lvt,
  pictograph,
  consonant,  ///< a consonant of a script with linkers
};

extern const uint32_t grapheme_run_count;
extern const uint32_t grapheme_runs[];  ///< first code point << 8 | class, sorted

GraphemeClass grapheme_class(char32_t code);

/// Gives the end of the extended grapheme cluster that starts at `at`, as the segmentation inside
/// `tokenizers` has it; `text` is valid UTF-8, `at` < text.size(). It is exact for clusters of
/// fewer than 6 bytes; a longer one may be cut where its parts are single characters.
size_t grapheme_end(std::string_view text, size_t at);

}  // namespace hone::text
