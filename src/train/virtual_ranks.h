#pragma once

#include <vector>

#include "train/strategy.h"

namespace hone::train {

/// The slices [begin, end) of a tree of sums.
struct SliceRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const SliceRange&) const = default;
  size_t size() const { return end - begin; }
  /// Gives where the tree parts: behind the largest power of two that is smaller than the range, as
  /// comm::tree_sum() does.
  size_t middle() const;
};

/// Lists the largest subtrees of the tree over `tree` that lie in `part`, in order.
std::vector<SliceRange> subtrees(const SliceRange& tree, const SliceRange& part);

/// Sums as many slices as there are virtual ranks in one tree, however many ranks compute them: the
/// gradients have the same bits for every number of ranks that divides theirs. A rank runs its
/// slices one after the other.
class VirtualRanks : public Strategy {
 public:
  explicit VirtualRanks(const Parts& parts);
  void run(const std::vector<SliceBatches>& slices, size_t batches, const StepState& state,
           const Done& done) override;
  uint64_t bytes() const override { return bytes_; }

 private:
  using Leaf = FunctionRef<void(size_t slice)>;
  /// Leaves the sum of a subtree in the gradients.
  void sum(const SliceRange& range, const Leaf& leaf);
  /// Sums subtrees that are no rank's as a whole: `parts` has those of this rank, one array each.
  void combine(const std::vector<std::vector<float>>& parts);
  std::span<float> gradients() const;

  SliceRange all_;
  SliceRange own_;
  std::vector<std::vector<SliceRange>> held_;  ///< subtrees by rank
  uint64_t bytes_ = 0;
};

}  // namespace hone::train
