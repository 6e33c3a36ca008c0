#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace hone::text {

/// A trie over pieces' bytes in 9 bytes a node. Nodes lie in breadth-first order, so a node's
/// children are neighbours and their labels one run of bytes; it is built in linear time whatever
/// the pieces are, which a double array is not.
class UnigramTrie {
 public:
  UnigramTrie() = default;
  /// The index of the last of equal strings is kept; empty ones are left out. The views are read
  /// only here.
  explicit UnigramTrie(const std::vector<std::string_view>& pieces);

  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = 0;  ///< no node's child is the root

  /// The child of `node` by `byte`, or none.
  uint32_t child(uint32_t node, uint8_t byte) const {
    if (node == root) return root_children_[byte];
    const uint32_t first = nodes_[node].first_child;
    const uint32_t count = nodes_[node + 1].first_child - first;
    if (count <= 4) {
      for (uint32_t at = first; at < first + count; ++at) {
        if (labels_[at] == byte) return at;
      }
      return none;
    }
    const void* found = std::memchr(labels_.data() + first, byte, count);
    if (found == nullptr) return none;
    return static_cast<uint32_t>(static_cast<const uint8_t*>(found) - labels_.data());
  }
  /// Index of the piece that ends at `node`, or -1.
  int32_t value(uint32_t node) const { return nodes_[node].value; }
  /// Index of exactly this piece, or -1.
  int32_t find(std::string_view text) const;

 private:
  struct Node {
    uint32_t first_child;  ///< its children end where those of the next node begin
    int32_t value;
  };
  std::vector<Node> nodes_;
  std::vector<uint8_t> labels_;
  std::array<uint32_t, 256> root_children_{};
};

}  // namespace hone::text
