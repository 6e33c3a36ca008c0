#pragma once

#include <cstddef>
#include <cstdint>

/// Trees over the words of one text, by scores of their constituents. A text of n words has a cell
/// for each span of two words or more: (i, j) with j - i >= 2, by i, then by j. A tree's score is
/// the sum of its constituents' scores but the whole, which is always one. A node may have any
/// number of children from two on. All run in the caller's thread; T is float or double.
namespace hone::kernels {

inline constexpr int64_t kMostChartWords = 128;

inline int64_t chart_cells(int64_t words) { return words * (words - 1) / 2; }

/// Gives the number of span [i, j) among the cells of so many words.
inline int64_t chart_cell(int64_t words, int64_t i, int64_t j) {
  return i * (words - 1) - i * (i - 1) / 2 + j - i - 2;
}

/// Gives the bytes that the functions below work in, for any number of words up to the most.
size_t chart_workspace();

/// Gives the logarithm of the sum of e^score over all trees. Sets marginals [cells] where they are
/// not null: each span's probability, with which the whole has 1.
template <typename T>
double tree_partition(const T* scores, int64_t words, T* marginals, void* workspace);

/// Finds the tree with the highest score, where each constituent costs `threshold` beside. Writes
/// its constituents' begins and ends, in the order of a trees::Tree, the whole first; there are at
/// most words - 1. Gives their number. Of equal trees it takes the one with fewer constituents, and
/// that whose constituents are split first.
template <typename T>
int64_t best_tree(const T* scores, int64_t words, double threshold, int32_t* spans,
                  void* workspace);

}  // namespace hone::kernels
