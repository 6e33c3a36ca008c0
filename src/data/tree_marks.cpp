#include "data/tree_marks.h"

#include <algorithm>
#include <set>

#include "kernels/cpu/chart.h"

namespace hone::data {
namespace {

void add(std::byte& count) { count = static_cast<std::byte>(static_cast<uint8_t>(count) + 1); }

}  // namespace

std::vector<int32_t> leaf_tokens(std::span<const std::byte> sample) {
  const TreeMarks<const std::byte> marks(sample);
  std::vector<int32_t> tokens;
  for (size_t token = 0; token < marks.tokens; ++token) {
    if (marks.begins(token) == std::byte{0}) continue;
    if (std::ssize(tokens) == kernels::kMostChartWords) break;
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

void mark_constituents(std::span<const int32_t> leaf_tokens,
                       std::span<const std::pair<int32_t, int32_t>> constituents,
                       std::span<std::byte> sample) {
  const TreeMarks<std::byte> marks(sample);
  for (const int32_t token : leaf_tokens) marks.begins(static_cast<size_t>(token)) = kLeafMark;
  for (const auto& [begin, end] : constituents) {
    add(marks.opens(static_cast<size_t>(leaf_tokens[static_cast<size_t>(begin)])));
    add(marks.closes(static_cast<size_t>(leaf_tokens[static_cast<size_t>(end) - 1])));
  }
}

int64_t mark_tree(const trees::Tree& tree, size_t words, const Leaves& leaves, CutConstituents cut,
                  EncodedSample& sample) {
  std::vector<int32_t> leaf_of(words + 1, static_cast<int32_t>(leaves.list.size()));
  std::vector<int32_t> tokens;
  for (size_t leaf = 0; leaf < leaves.list.size(); ++leaf) {
    const uint32_t end = leaf + 1 < leaves.list.size() ? leaves.list[leaf + 1].first : leaves.words;
    std::fill(leaf_of.begin() + leaves.list[leaf].first, leaf_of.begin() + end,
              static_cast<int32_t>(leaf));
    tokens.push_back(static_cast<int32_t>(leaves.list[leaf].token));
  }
  const auto count = static_cast<int32_t>(leaves.list.size());
  std::set<std::pair<int32_t, int32_t>> found;
  int64_t left_out = 0;
  for (const trees::Constituent& each : tree.constituents) {
    if (cut == CutConstituents::left_out && each.end > static_cast<int32_t>(leaves.words)) {
      if (each.size() < static_cast<int32_t>(words)) ++left_out;
      continue;
    }
    const int32_t begin = leaf_of[static_cast<size_t>(each.begin)];
    const int32_t end = std::min(count, leaf_of[static_cast<size_t>(each.end) - 1] + 1);
    if (end - begin >= 2 && end - begin != count) found.emplace(begin, end);
  }
  const std::vector<std::pair<int32_t, int32_t>> list(found.begin(), found.end());
  mark_constituents(tokens, list, sample.bytes);
  return left_out;
}

std::vector<std::pair<int32_t, int32_t>> marked_constituents(std::span<const std::byte> sample) {
  const TreeMarks<const std::byte> marks(sample);
  const std::vector<int32_t> tokens = leaf_tokens(sample);
  std::vector<std::pair<int32_t, int32_t>> found;
  std::vector<int32_t> open;
  for (int32_t leaf = 0; leaf < std::ssize(tokens); ++leaf) {
    const auto token = static_cast<size_t>(tokens[static_cast<size_t>(leaf)]);
    open.insert(open.end(), static_cast<size_t>(marks.opens(token)), leaf);
    // What comes from a file may close what is not open, or be no span of two.
    for (auto left = static_cast<size_t>(marks.closes(token)); left > 0 && !open.empty(); --left) {
      if (leaf > open.back()) found.emplace_back(open.back(), leaf + 1);
      open.pop_back();
    }
  }
  return found;
}

bool has_given_tree(std::span<const std::byte> sample) {
  const TreeMarks<const std::byte> marks(sample);
  for (size_t token = 0; token < marks.tokens; ++token) {
    if (marks.begins(token) != std::byte{0}) return marks.begins(token) == kGivenMark;
  }
  return false;
}

}  // namespace hone::data
