#include "text/unigram_trie.h"

#include <algorithm>
#include <numeric>

namespace hone::text {

UnigramTrie::UnigramTrie(const std::vector<std::string_view>& pieces) {
  std::vector<int32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  const auto text = [&](int32_t index) { return pieces[static_cast<size_t>(index)]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int compared = text(a).compare(text(b));
    return compared != 0 ? compared < 0 : a < b;
  });

  // The pieces below a node are a range of the sorted order; `depth` bytes of them are equal.
  struct Range {
    uint32_t begin;
    uint32_t end;
  };
  std::vector<Range> level{{0, static_cast<uint32_t>(order.size())}};
  labels_.push_back(0);
  for (size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> below;
    auto next = static_cast<uint32_t>(nodes_.size() + level.size());
    for (Range range : level) {
      Node node{next, -1};
      for (; range.begin < range.end && text(order[range.begin]).size() == depth; ++range.begin) {
        if (depth > 0) node.value = order[range.begin];
      }
      while (range.begin < range.end) {
        const auto label = static_cast<uint8_t>(text(order[range.begin])[depth]);
        uint32_t end = range.begin + 1;
        while (end < range.end && static_cast<uint8_t>(text(order[end])[depth]) == label) ++end;
        below.push_back({range.begin, end});
        labels_.push_back(label);
        if (depth == 0) root_children_[label] = next;
        ++next;
        range.begin = end;
      }
      nodes_.push_back(node);
    }
    level = std::move(below);
  }
  nodes_.push_back({static_cast<uint32_t>(nodes_.size()), -1});
}

int32_t UnigramTrie::find(std::string_view text) const {
  uint32_t node = root;
  for (const char c : text) {
    node = child(node, static_cast<uint8_t>(c));
    if (node == none) return -1;
  }
  return value(node);
}

}  // namespace hone::text
