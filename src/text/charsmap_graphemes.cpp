#include "text/charsmap_graphemes.h"

#include <algorithm>

#include "base/utf8.h"

namespace hone::text {
namespace {

using C = GraphemeClass;

bool is_extending(C c) {
  return c == C::extend || c == C::linker || c == C::non_joiner || c == C::zwj ||
         c == C::spacing_mark;
}

bool is_control(C c) { return c == C::control || c == C::cr || c == C::lf; }

bool joins_hangul(C before, C after) {
  switch (before) {
    case C::hangul_l:
      return after == C::hangul_l || after == C::hangul_v || after == C::hangul_lv ||
             after == C::hangul_lvt;
    case C::hangul_v:
    case C::hangul_lv:
      return after == C::hangul_v || after == C::hangul_t;
    case C::hangul_t:
    case C::hangul_lvt:
      return after == C::hangul_t;
    default:
      return false;
  }
}

/// Holds what rules GB9c and GB11 need to know of the characters before a boundary.
class Context {
 public:
  void pass(C c) {
    pictograph_joined_ = c == C::zwj && pictograph_;
    pictograph_ = c == C::pictograph ||
                  (pictograph_ && (c == C::extend || c == C::linker || c == C::non_joiner));
    if (c == C::consonant) {
      consonant_ = true;
      linked_ = false;
    } else if (c == C::linker) {
      linked_ = consonant_;
    } else if (c != C::extend && c != C::zwj) {
      consonant_ = linked_ = false;
    }
  }
  bool joins(C next) const {
    return (next == C::consonant && linked_) || (next == C::pictograph && pictograph_joined_);
  }

 private:
  bool pictograph_ = false;         ///< a pictograph and its extending characters came before
  bool pictograph_joined_ = false;  ///< pictograph_, and a joiner came before
  bool consonant_ = false;
  bool linked_ = false;
};

}  // namespace

GraphemeClass grapheme_class(char32_t code) {
  constexpr char32_t first_syllable = 0xAC00;
  constexpr char32_t syllables = 11172;
  if (code - first_syllable < syllables) {
    return (code - first_syllable) % 28 == 0 ? C::hangul_lv : C::hangul_lvt;
  }
  const uint32_t* end = grapheme_runs + grapheme_run_count;
  const uint32_t* run =
      std::upper_bound(grapheme_runs, end, static_cast<uint32_t>(code << 8 | 255));
  return static_cast<C>(run[-1] & 255);
}

size_t grapheme_end(std::string_view text, size_t at) {
  Context context;
  Utf8Char c = decode_utf8(text, at);
  C before = grapheme_class(c.code);
  at += c.size;
  while (at < text.size()) {
    c = decode_utf8(text, at);
    const C after = grapheme_class(c.code);
    context.pass(before);
    const bool joined = before == C::cr ? after == C::lf
                        : is_control(before) || is_control(after)
                            ? false
                            : is_extending(after) || before == C::prepend ||
                                  joins_hangul(before, after) || context.joins(after);
    if (!joined) break;
    before = after;
    at += c.size;
  }
  return at;
}

}  // namespace hone::text
