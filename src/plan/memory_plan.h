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

/// Offsets of blocks in one arena such that blocks alive at one time never overlap.
struct MemoryPlan {
  std::vector<size_t> offsets;
  size_t bytes = 0;
};

/// Largest first, each at the lowest free offset; offsets are multiples of 64.
MemoryPlan plan_memory(const std::vector<Lifetime>& blocks);

}  // namespace hone
