#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

/// A block that must exist from step `first` to step `last`, inclusive.
struct Lifetime {
  size_t bytes;
  int32_t first;
  int32_t last;
};

/// Memory beside the arena that somebody lends: each region is free for blocks that end before step
/// `until`, and the owner's from then on. What lies in no region is not lent. No two overlap.
struct LentMemory {
  struct Region {
    size_t offset;
    size_t bytes;
    int32_t until;
  };
  size_t bytes = 0;  ///< all bytes, with what is not lent
  std::vector<Region> regions = {};
};

/// Places of blocks such that blocks alive at one time never overlap.
struct MemoryPlan {
  std::vector<size_t> offsets;  ///< a place below `lent` is in the lent memory; others, less
                                ///< `lent`, are in the arena
  size_t bytes = 0;             ///< bytes of the arena
  size_t lent = 0;

  template <typename Byte>
  Byte* address(size_t block, Byte* lent_memory, Byte* arena) const {
    const size_t offset = offsets[block];
    return offset < lent ? lent_memory + offset : arena + (offset - lent);
  }
};

/// Places blocks at multiples of 64, none of them in both memories. The largest is placed first,
/// each at the lowest free offset of the arena, or at the highest of lent memory where there is
/// one; of equal sizes, those that end first come first.
MemoryPlan plan_memory(const std::vector<Lifetime>& blocks, const LentMemory& lent = {});

}  // namespace hone
