#include "trees/tree_index.h"

#include "trees/normal_text.h"

namespace hone::trees {

void TreeIndex::add(Tree tree) {
  const Tree& kept = trees_.emplace_back(std::move(tree));
  std::string& key = keys_.emplace_back();
  std::vector<size_t> starts = {0};  // where each word begins in the key
  for (const std::string& word : kept.words) {
    key += normal_key(word);
    starts.push_back(key.size());
  }
  const auto put = [&](int32_t begin, int32_t end) {
    const size_t first = starts[static_cast<size_t>(begin)];
    const Place place{&kept, begin, end};
    const auto at = places_.try_emplace(
        std::string_view(key).substr(first, starts[static_cast<size_t>(end)] - first), place);
    if (!at.second && place.whole() && !at.first->second.whole()) at.first->second = place;
  };
  for (const Constituent& constituent : kept.constituents) put(constituent.begin, constituent.end);
  for (int32_t word = 0; word < static_cast<int32_t>(kept.words.size()); ++word) {
    put(word, word + 1);
  }
}

std::optional<Tree> TreeIndex::find(std::string_view text) const {
  const std::string key = normal_key(text);
  const auto at = places_.find(key);
  if (key.empty() || at == places_.end()) return {};
  return at->second.tree->part(at->second.begin, at->second.end);
}

}  // namespace hone::trees
