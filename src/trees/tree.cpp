#include "trees/tree.h"

#include <algorithm>

#include "trees/leaf.h"

namespace hone::trees {

Tree Tree::part(int32_t begin, int32_t end) const {
  Tree part;
  part.words.assign(words.begin() + begin, words.begin() + end);
  for (const Constituent& each : constituents) {
    if (each.begin < begin || each.end > end) continue;
    part.constituents.push_back({each.begin - begin, each.end - begin, each.label});
  }
  return part;
}

std::string Tree::text() const {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

void sort_constituents(std::vector<Constituent>& constituents) {
  std::sort(constituents.begin(), constituents.end(),
            [](const Constituent& a, const Constituent& b) {
              return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
            });
}

std::string brackets_of(const Tree& tree) {
  std::string out;
  std::vector<int32_t> ends;  // where the open constituents end
  size_t next = 0;
  const bool single = tree.constituents.empty();
  if (single) out += "(X";
  for (size_t word = 0; word < tree.words.size(); ++word) {
    for (; next < tree.constituents.size(); ++next) {
      const Constituent& constituent = tree.constituents[next];
      if (constituent.begin != static_cast<int32_t>(word)) break;
      if (!out.empty()) out += ' ';
      out += '(';
      out += constituent.label.empty() ? "X" : constituent.label;
      ends.push_back(constituent.end);
    }
    out += ' ';
    append_escaped(tree.words[word], out);
    for (; !ends.empty() && ends.back() == static_cast<int32_t>(word) + 1; ends.pop_back()) {
      out += ')';
    }
  }
  if (single) out += ')';
  return out;
}

}  // namespace hone::trees
