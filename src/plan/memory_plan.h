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
  size_t bytes = 0;  ///< in all, with what is not lent
  std::vector<Region> regions = {};
};

/// Places of blocks such that blocks alive at one time never overlap.
struct MemoryPlan {
  std::vector<size_t> offsets;  ///< below `lent`: in the lent memory; others less `lent`: the arena
  size_t bytes = 0;             ///< of the arena
  size_t lent = 0;

  template <typename Byte>
  Byte* address(size_t block, Byte* lent_memory, Byte* arena) const {
    const size_t offset = offsets[block];
    return offset < lent ? lent_memory + offset : arena + (offset - lent);
  }
};

/// Offsets are multiples of 64, and no block lies in both memories. Largest first, each at the
/// lowest free offset of the arena; but where memory is lent at the highest one there, if any, and
/// those that end first before others of their size.
MemoryPlan plan_memory(const std::vector<Lifetime>& blocks, const LentMemory& lent = {});

}  // namespace hone
