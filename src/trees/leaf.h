#pragma once

#include <string>
#include <string_view>

namespace hone::trees {

/// Appends a word as a treebank spells it, with its escapes undone: -LRB- is "(", \/ is "/".
void append_leaf(std::string_view leaf, std::string& text);

/// Appends a word with its brackets escaped, so that it can stand in a tree.
void append_escaped(std::string_view word, std::string& text);

}  // namespace hone::trees
