#include "infer/memory_budget.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "device/memory.h"

namespace hone::infer {
namespace {

// For what is not counted: the texts and tokens of a batch, answers, the allocator's slack, pages
// of the program that later steps touch.
constexpr uint64_t kSlack = 3 << 20;

/// What a batch of so many tokens takes.
uint64_t batch_bytes(const StreamedWeights& weights, const Layered& layered, int64_t tokens) {
  Extents extents;
  extents[Axis::tokens] = tokens;
  extents[Axis::sequences] = extents[Axis::reads] = std::min(tokens, kBudgetSequences);
  const Value x = layered.part(0).output;
  // Between two layers rows are moved to an array that may have to grow: the old and the new.
  const auto grown = static_cast<uint64_t>(tokens * x.width) * dtype_size(x.dtype);
  constexpr uint64_t kIdBytes = 128;  // of the batch's own arrays, and of a copy
  return layered.bytes_for(extents) + grown + weights.row_bytes(tokens) +
         static_cast<uint64_t>(tokens) * kIdBytes;
}

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

int64_t fit_budget(StreamedWeights& weights, const Layered& layered, uint64_t budget,
                   int64_t longest, int64_t most) {
  const std::vector<int32_t> order = layered.matrices();
  const uint64_t fixed = resident_bytes() + kSlack + weights.fixed_bytes(order);
  const uint64_t least =
      std::max(peak_resident_bytes(), fixed + batch_bytes(weights, layered, longest));
  if (budget < least) {
    // Rounded up: the least that is named must do.
    fail(ErrorKind::usage,
         "--memory-budget: {:.1f} MB is too little for this model and {} tokens a text; the least "
         "is {} MB",
         megabytes(budget), longest, least / 1'000'000 + 1);
  }
  const uint64_t room = budget - fixed;
  // Matrices of a shared layer, or of a pooler that all exits share, are read over and over: they
  // come before a large batch.
  uint64_t repeated = 0;
  for (const int32_t slot : std::set<int32_t>(order.begin(), order.end())) {
    if (std::count(order.begin(), order.end(), slot) > 1) repeated += weights.matrix_bytes(slot);
  }
  const uint64_t reserved =
      repeated + batch_bytes(weights, layered, longest) <= room ? repeated : 0;
  const auto tokens_in = [&](uint64_t bytes) {
    int64_t tokens = std::max(longest, most);
    while (tokens > longest && batch_bytes(weights, layered, tokens) > bytes) {
      tokens = std::max(longest, tokens * 7 / 8);
    }
    return tokens;
  };
  int64_t tokens = tokens_in(room - reserved);
  // Wide windows take a third off what a pass loses, so they are worth a third of the tokens.
  uint64_t extra = weights.wide_bytes(order);
  if (reserved + extra + batch_bytes(weights, layered, std::max(longest, tokens * 2 / 3)) > room)
    extra = 0;
  if (extra > 0) tokens = tokens_in(room - reserved - extra);
  const uint64_t left = room - extra - batch_bytes(weights, layered, tokens);
  weights.load(order, left, extra > 0, tokens);
  return tokens;
}

}  // namespace hone::infer
