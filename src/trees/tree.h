#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::trees {

/// Two or more words, [begin, end) of their text's, that belong together.
struct Constituent {
  int32_t begin = 0;
  int32_t end = 0;
  std::string label = {};  ///< what the file calls it; that of the lowest node of a unary chain

  int32_t size() const { return end - begin; }
  bool operator==(const Constituent&) const = default;
};

/// A text's words, and how they belong together. No two constituents have the same words, none
/// crosses another, and they come in the order in which they begin, the longer one first. Where
/// there are two words or more, the first constituent is the whole.
struct Tree {
  std::vector<std::string> words;
  std::vector<Constituent> constituents;

  /// Gives the part over words [begin, end), which are one word or a constituent.
  Tree part(int32_t begin, int32_t end) const;
  /// Gives the words with a space between two of them.
  std::string text() const;
  bool operator==(const Tree&) const = default;
};

/// Puts constituents into the order that a tree has them in.
void sort_constituents(std::vector<Constituent>& constituents);

/// Writes a tree on one line: "(S (NP a film) works)". A constituent without a label has "X"; what
/// would read as a bracket is escaped.
std::string brackets_of(const Tree& tree);

}  // namespace hone::trees
