#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trees/tree.h"

namespace hone::trees {

/// Finds the trees of texts. A text is a tree's, or that of a constituent or a word of one, where
/// they differ in spaces, case and style of quotes alone. A text that is a whole tree's gets that
/// one, else the first of the constituents; of equal texts, the first tree.
class TreeIndex {
 public:
  void add(Tree tree);
  size_t size() const { return trees_.size(); }
  const std::deque<Tree>& trees() const { return trees_; }
  std::optional<Tree> find(std::string_view text) const;

 private:
  struct Place {
    const Tree* tree;
    int32_t begin;
    int32_t end;
    bool whole() const { return end - begin == static_cast<int32_t>(tree->words.size()); }
  };

  std::deque<Tree> trees_;
  std::deque<std::string> keys_;                        ///< by tree
  std::unordered_map<std::string_view, Place> places_;  ///< views of keys_
};

}  // namespace hone::trees
