#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::text {

/// A double-array trie over pieces' bytes.
class UnigramTrie {
 public:
  /// Of equal strings the last one's index is kept; empty ones are left out.
  explicit UnigramTrie(const std::vector<std::pair<std::string, double>>& pieces);

  struct Node {
    int32_t base = 0;     ///< child c lies at base + c
    int32_t parent = -1;  ///< of the node that owns this slot; -1 where free
    int32_t value = -1;   ///< index of the piece that ends here, -1 where none does
  };
  static constexpr int32_t root = 0;

  /// The child of `node` by `byte`, or -1.
  int32_t child(int32_t node, uint8_t byte) const {
    const int32_t at = nodes_[static_cast<size_t>(node)].base + byte;
    return nodes_[static_cast<size_t>(at)].parent == node ? at : -1;
  }
  int32_t value(int32_t node) const { return nodes_[static_cast<size_t>(node)].value; }
  int32_t find(std::string_view text) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace hone::text
