#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/aligned_text.h"
#include "trees/tree.h"

namespace hone::trees {

/// A word's place in its text: code points [begin, end), as tokens' offsets count them.
using WordPlace = text::Span;

/// Finds a tree's words in the text that they are of, one behind the other with nothing but spaces
/// between; nothing where they differ in more than spaces, case and style of quotes.
std::optional<std::vector<WordPlace>> locate_words(const Tree& tree, std::string_view text);

/// Splits a text into words as a treebank does: at spaces; punctuation at a word's begin and end
/// stands alone, runs of one character together ("..."), and so do English endings ("do n't",
/// "it 's"). A dot stays with initials and abbreviations that have another ("U.S."). Text that is
/// split already stays as it is.
std::vector<WordPlace> split_words(std::string_view text);

/// Says of each word whether a sentence ends with it: a word of dots, question or exclamation
/// marks, with the closing quotes and brackets behind it.
std::vector<bool> sentence_ends(std::string_view text, const std::vector<WordPlace>& words);

}  // namespace hone::trees
