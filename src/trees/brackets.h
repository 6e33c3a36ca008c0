#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trees/tree.h"

namespace hone::trees {

/// Reads trees in the brackets of the Penn Treebank, a piece of text at a time: a tree may take
/// several lines, and a line hold several trees. A node is "(LABEL children)", and its label may be
/// missing; what stands in it beside nodes are words. Nodes without words are left out, and so is
/// what is below -NONE-: empty nodes and traces. A chain of nodes over the same words is one.
class BracketReader {
 public:
  static constexpr size_t kMostWords = 4096;  ///< most words that a tree has
  static constexpr size_t kMostDepth = 1000;
  static constexpr size_t kMostBytes = size_t{1} << 20;  ///< a tree's words and labels together

  /// Takes a line, and appends the trees that end in it. Gives what is wrong with it; empty where
  /// nothing is. After that nothing can be taken any more.
  std::string take(std::string_view line, std::vector<Tree>& trees);
  /// Says whether a tree has begun that has not ended.
  bool open() const { return !nodes_.empty(); }

 private:
  struct Node {
    size_t first;        ///< words before it
    bool labelled;       ///< its label has been read, or it has none
    bool empty = false;  ///< its words are left out
    std::string label = {};
  };

  std::string begin_node();
  std::string take_atom(std::string_view atom);
  std::string end_node(std::vector<Tree>& trees);

  std::vector<Node> nodes_;
  Tree tree_;
  size_t bytes_ = 0;
};

}  // namespace hone::trees
