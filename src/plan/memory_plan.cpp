#include "plan/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

constexpr size_t kAlign = 64;

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& blocks) {
  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (const size_t block : order) {
    if (blocks[block].bytes == 0) continue;
    const size_t bytes = (blocks[block].bytes + kAlign - 1) / kAlign * kAlign;
    size_t at = 0;
    for (const size_t other : placed) {
      if (!overlap(blocks[block], blocks[other])) continue;
      if (plan.offsets[other] >= at + bytes) break;
      at = std::max(at, plan.offsets[other] + (blocks[other].bytes + kAlign - 1) / kAlign * kAlign);
    }
    plan.offsets[block] = at;
    plan.bytes = std::max(plan.bytes, at + bytes);
    const auto where =
        std::upper_bound(placed.begin(), placed.end(), at,
                         [&](size_t offset, size_t other) { return offset < plan.offsets[other]; });
    placed.insert(where, block);
  }
  return plan;
}

}  // namespace hone
