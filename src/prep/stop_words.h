#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::prep {

/// English words that say little of what a text is about: articles, pronouns, prepositions,
/// auxiliaries, the letters that contractions leave, and `br`, which HTML's line breaks leave.
/// Negations (no, not, never, don't, ...) are not among them, because opinions turn on them.
extern const std::string_view kEnglishStopWords;

/// Gives the words of "english", "none", or a file with one word a line.
std::vector<std::string> stop_words(const std::string& name);

}  // namespace hone::prep
