#pragma once

#include <span>
#include <string_view>

namespace hone::text {

/// English words that say little of what a text is about: articles, pronouns, prepositions,
/// auxiliaries, the letters that contractions leave, and `br`, which HTML's line breaks leave.
/// Negations (no, not, never, don't, ...) are not among them, because opinions turn on them. They
/// are in lower case, in the order of their bytes.
std::span<const std::string_view> english_stop_words();

/// Says whether a word, in lower case, is one of them.
bool is_stop_word(std::string_view word);

}  // namespace hone::text
