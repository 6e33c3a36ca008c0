#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/processor.h"
#include "trees/words.h"

/// What a stored sample has behind its ids and types where its words count: three bytes a token,
/// whether a leaf begins there, how many constituents begin with that leaf, and how many end with
/// it. The whole is not among them.
namespace hone::data {

inline constexpr size_t kTreeMarks = 3;
/// The first leaf's byte where the sample's tree was given; elsewhere a leaf has kLeafMark.
inline constexpr std::byte kGivenMark{3};
inline constexpr std::byte kLeafMark{1};

/// Words that a parser takes as one: those that share a token, or have none of their own. A leaf
/// is words [first, next leaf's first), and begins at `token`.
struct Leaf {
  uint32_t token;
  uint32_t first;
};

/// A text's leaves, as far as its tokens and the chart reach.
struct Leaves {
  std::vector<Leaf> list;
  uint32_t words = 0;  ///< words in the leaves; fewer than the text has where it was cut
};

/// The marks of a stored sample's tokens.
template <typename Byte>
struct TreeMarks {
  static constexpr size_t kUnit = sizeof(int32_t) + sizeof(uint8_t) + kTreeMarks;

  explicit TreeMarks(std::span<Byte> sample)
      : tokens(sample.size() / kUnit), bytes(sample.data() + tokens * (kUnit - kTreeMarks)) {}

  Byte& begins(size_t token) const { return bytes[token]; }
  Byte& opens(size_t token) const { return bytes[tokens + token]; }
  Byte& closes(size_t token) const { return bytes[2 * tokens + token]; }

  size_t tokens;
  Byte* bytes;
};

/// Says what becomes of a constituent whose end was cut off.
enum class CutConstituents : uint8_t { shortened, left_out };

/// Marks a sample's leaves and, where there is a tree over these words, its constituents. Gives how
/// many were left out because their end was cut off.
int64_t mark_tree(const trees::Tree& tree, size_t words, const Leaves& leaves, CutConstituents cut,
                  EncodedSample& sample);

/// Marks leaves and constituents over them, of which there is none over all.
void mark_constituents(std::span<const int32_t> leaf_tokens,
                       std::span<const std::pair<int32_t, int32_t>> constituents,
                       std::span<std::byte> sample);

/// Gives the tokens with which leaves begin; no more than a chart has room for.
std::vector<int32_t> leaf_tokens(std::span<const std::byte> sample);

/// Gives a stored sample's constituents over its leaves, in no order, without the whole.
std::vector<std::pair<int32_t, int32_t>> marked_constituents(std::span<const std::byte> sample);

/// Says whether a stored sample's tree was given.
bool has_given_tree(std::span<const std::byte> sample);

}  // namespace hone::data
