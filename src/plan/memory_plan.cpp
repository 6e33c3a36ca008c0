#include "plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "device/memory.h"

namespace hone {
namespace {

/// A range of memory that is taken from step `first` to step `last`, inclusive.
struct Taken {
  size_t begin;
  size_t end;
  int32_t first;
  int32_t last;

  bool meets(const Lifetime& block) const { return first <= block.last && block.first <= last; }
};

/// Lists what the owner of lent memory takes, the highest end first.
std::vector<Taken> owned(const LentMemory& lent) {
  constexpr auto kStart = std::numeric_limits<int32_t>::min();
  constexpr auto kEnd = std::numeric_limits<int32_t>::max();
  std::vector<LentMemory::Region> regions = lent.regions;
  std::sort(regions.begin(), regions.end(),
            [](const auto& a, const auto& b) { return a.offset > b.offset; });
  std::vector<Taken> taken;
  size_t top = lent.bytes;
  for (const LentMemory::Region& region : regions) {
    const size_t end = region.offset + region.bytes;
    if (end < top) taken.push_back({end, top, kStart, kEnd});
    taken.push_back({region.offset, end, region.until, kEnd});
    top = region.offset;
  }
  if (top > 0) taken.push_back({0, top, kStart, kEnd});
  return taken;
}

/// Finds the highest free place; `taken` is sorted by falling end. Regions are lent the longer the
/// lower they lie, where gradients come in the reverse order of their weights: the highest place
/// leaves the others to blocks that live on.
std::optional<size_t> highest_free(const std::vector<Taken>& taken, size_t top,
                                   const Lifetime& block) {
  for (const Taken& other : taken) {
    if (!other.meets(block)) continue;
    if (other.end + block.bytes <= top) {
      const size_t at = (top - block.bytes) / kAlignment * kAlignment;
      if (at >= other.end) return at;
    }
    top = std::min(top, other.begin);
  }
  if (block.bytes > top) return {};
  return (top - block.bytes) / kAlignment * kAlignment;
}

/// Finds the lowest free place; `taken` is sorted by rising begin.
size_t lowest_free(const std::vector<Taken>& taken, const Lifetime& block) {
  size_t at = 0;
  for (const Taken& other : taken) {
    if (!other.meets(block)) continue;
    if (other.begin >= at + block.bytes) break;
    at = std::max(at, aligned(other.end));
  }
  return at;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& blocks, const LentMemory& lent) {
  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  plan.lent = aligned(lent.bytes);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (blocks[a].bytes != blocks[b].bytes || lent.bytes == 0) {
      return blocks[a].bytes > blocks[b].bytes;
    }
    return blocks[a].last < blocks[b].last;
  });
  std::vector<Taken> in_lent = owned(lent);
  std::vector<Taken> in_arena;
  for (const size_t index : order) {
    const Lifetime& block = blocks[index];
    if (block.bytes == 0) continue;
    if (const auto at = highest_free(in_lent, lent.bytes, block)) {
      plan.offsets[index] = *at;
      const Taken own{*at, *at + block.bytes, block.first, block.last};
      const auto where =
          std::upper_bound(in_lent.begin(), in_lent.end(), own,
                           [](const Taken& a, const Taken& b) { return a.end > b.end; });
      in_lent.insert(where, own);
      continue;
    }
    const size_t at = lowest_free(in_arena, block);
    plan.offsets[index] = plan.lent + at;
    const Taken own{at, at + block.bytes, block.first, block.last};
    plan.bytes = std::max(plan.bytes, aligned(own.end));
    const auto where =
        std::upper_bound(in_arena.begin(), in_arena.end(), own,
                         [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    in_arena.insert(where, own);
  }
  return plan;
}

}  // namespace hone
