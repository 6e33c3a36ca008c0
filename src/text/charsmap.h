#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"

namespace hone::text {

/// The Precompiled normalizer: SentencePiece's table of replacements, read the way Hugging Face
/// `tokenizers` reads it. That way is a quirk that must be kept: the text is cut into extended
/// grapheme clusters; one of fewer than 6 bytes is looked up whole, and where that finds nothing
/// (or it is longer) each of its characters is looked up alone. A look-up takes the shortest entry
/// that is a prefix of what is looked up.
class CharsMap {
 public:
  /// `blob` is the decoded precompiled_charsmap: length of the trie, trie, replacements, each
  /// ended by a zero byte. `file` names the source in errors.
  CharsMap(std::string_view blob, const std::string& file);

  /// An Edit makes bytes [begin, end) of the text, whole characters, `replacement` (may be empty).
  /// The alignment is that of `tokenizers`: the k-th character of the replacement stands for the
  /// k-th character of the source, surplus ones are inserted after the last one. Surplus characters
  /// of the source are charged to the character written before, whatever that was: it passes over
  /// so many more of them (an inserted one first becomes one that stands for its source); at the
  /// very start of the text nothing is written yet, and they are not passed over at all.
  using Edit = FunctionRef<void(size_t begin, size_t end, std::string_view replacement)>;

  /// Calls `edit` for every replaced stretch of `text` (valid UTF-8) in order; what lies between
  /// stays. Returns whether there was any.
  bool normalize(std::string_view text, Edit edit) const;

  /// The replacement of exactly one chunk (a grapheme cluster or a character), if there is one.
  std::optional<std::string_view> find(std::string_view chunk) const;

 private:
  std::vector<uint32_t> units_;        ///< Darts double array
  std::string replacements_;           ///< zero-ended strings, at the trie's values
  std::array<bool, 128> ascii_stays_;  ///< no entry for this character alone
};

}  // namespace hone::text
