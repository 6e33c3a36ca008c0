#include "trees/brackets.h"

#include <fmt/format.h>

#include <algorithm>

#include "trees/leaf.h"

namespace hone::trees {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kBreaks = " \t\r\n\v\f()";

}  // namespace

std::string BracketReader::begin_node() {
  if (nodes_.size() == kMostDepth) return fmt::format("more than {} brackets are open", kMostDepth);
  bool empty = false;
  if (!nodes_.empty()) {
    nodes_.back().labelled = true;
    empty = nodes_.back().empty;
  }
  nodes_.push_back({tree_.words.size(), false, empty});
  return {};
}

std::string BracketReader::take_atom(std::string_view atom) {
  if (nodes_.empty()) return "text outside of brackets";
  bytes_ += atom.size();
  if (bytes_ > kMostBytes) return fmt::format("more than {} bytes in one tree", kMostBytes);
  Node& node = nodes_.back();
  if (!node.labelled) {
    node.labelled = true;
    node.label = atom;
    node.empty = node.empty || atom == "-NONE-";
    return {};
  }
  if (node.empty) return {};
  if (tree_.words.size() == kMostWords) {
    return fmt::format("more than {} words in one tree", kMostWords);
  }
  append_leaf(atom, tree_.words.emplace_back());
  return {};
}

std::string BracketReader::end_node(std::vector<Tree>& trees) {
  if (nodes_.empty()) return "a bracket closes nothing";
  Node node = std::move(nodes_.back());
  nodes_.pop_back();
  const auto begin = static_cast<int32_t>(node.first);
  const auto end = static_cast<int32_t>(tree_.words.size());
  std::vector<Constituent>& found = tree_.constituents;
  const bool again = !found.empty() && found.back().begin == begin && found.back().end == end;
  if (end - begin >= 2 && !again) found.push_back({begin, end, std::move(node.label)});
  if (!nodes_.empty()) return {};
  if (tree_.words.empty()) return "a tree without words";
  sort_constituents(found);
  trees.push_back(std::move(tree_));
  tree_ = {};
  bytes_ = 0;
  return {};
}

std::string BracketReader::take(std::string_view line, std::vector<Tree>& trees) {
  for (size_t at = line.find_first_not_of(kSpace); at != line.npos;
       at = line.find_first_not_of(kSpace, at)) {
    const size_t begin = at;
    std::string problem;
    if (line[at] == '(' || line[at] == ')') {
      problem = line[at] == '(' ? begin_node() : end_node(trees);
      ++at;
    } else {
      at = std::min(line.find_first_of(kBreaks, at), line.size());
      problem = take_atom(line.substr(begin, at - begin));
    }
    if (!problem.empty()) return fmt::format("column {}: {}", begin + 1, problem);
  }
  return {};
}

}  // namespace hone::trees
