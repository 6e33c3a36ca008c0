#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"

namespace hone::text {

/// The Metaspace pre-tokenizer: spaces become a visible character, which is also put before the
/// text, and words start at it.
struct Metaspace {
  enum class Prepend { always, first, never };

  std::string replacement = "\u2581";  ///< one character
  Prepend prepend = Prepend::always;
  bool split = true;

  /// An Edit makes bytes [begin, end) of the text, one character, `replacement`, whose characters
  /// all stand for it.
  using Edit = FunctionRef<void(size_t begin, size_t end, std::string_view replacement)>;

  /// Calls `edit` for every replaced stretch of `text` in order. `at_start` is whether the text
  /// begins where the original input begins (what Prepend::first asks). Returns whether there was
  /// any edit.
  bool rewrite(std::string_view text, bool at_start, Edit edit) const;

  /// Appends the words of a rewritten text: ranges that cover it, one for all where !split.
  void cut(std::string_view rewritten, std::vector<std::pair<uint32_t, uint32_t>>& words) const;
};

}  // namespace hone::text
