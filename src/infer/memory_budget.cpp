#include "infer/memory_budget.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "device/memory.h"

namespace hone::infer {
namespace {

// The slack covers what is not counted: the texts and tokens of a batch, answers, the allocator's
// slack, pages of the program that later steps touch.
constexpr uint64_t kSlack = 3 << 20;

/// Gives the bytes that a batch of so many tokens takes.
uint64_t batch_bytes(const StreamedWeights& weights, const LayerwiseForward& layerwise,
                     const data::Processor& processor, int64_t tokens) {
  const Extents extents = processor.extents(std::min(tokens, kBudgetSequences), tokens, tokens);
  const Value x = layerwise.part(0).output;
  // Rows between two layers are moved to an array that may have to grow: the old and the new one
  // count.
  const auto grown = static_cast<uint64_t>(tokens * x.width) * dtype_size(x.dtype);
  constexpr uint64_t kIdBytes = 128;  // bytes a token in the batch's own arrays, and in a copy
  return layerwise.bytes_for(extents) + grown + weights.row_bytes(tokens) +
         static_cast<uint64_t>(tokens) * kIdBytes;
}

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

MatrixBytes matrix_bytes(const StreamedWeights& weights, const std::vector<int32_t>& order) {
  MatrixBytes bytes{.huge_page_extra = weights.huge_page_extra(order)};
  for (const int32_t slot : std::set<int32_t>(order.begin(), order.end())) {
    const uint64_t own = weights.matrix_bytes(slot);
    bytes.all += own;
    if (std::count(order.begin(), order.end(), slot) > 1) bytes.repeated += own;
  }
  return bytes;
}

}  // namespace

BudgetShares share_out(uint64_t room, const MatrixBytes& matrices, int64_t longest, int64_t most,
                       FunctionRef<uint64_t(int64_t tokens)> batch) {
  const auto tokens_in = [&](uint64_t bytes) {
    int64_t tokens = std::max(longest, most);
    while (tokens > longest && batch(tokens) > bytes) tokens = std::max(longest, tokens * 7 / 8);
    return tokens;
  };
  const auto fits = [&](uint64_t bytes) { return bytes + batch(longest) <= room; };
  const uint64_t kept = fits(matrices.all)        ? matrices.all
                        : fits(matrices.repeated) ? matrices.repeated
                                                  : 0;
  BudgetShares shares{.tokens = tokens_in(room - kept)};
  const int64_t fewer = std::max(longest, shares.tokens * 2 / 3);
  shares.huge_pages = kept < matrices.all && kept + matrices.huge_page_extra + batch(fewer) <= room;
  const uint64_t extra = shares.huge_pages ? matrices.huge_page_extra : 0;
  if (shares.huge_pages) shares.tokens = std::max(fewer, tokens_in(room - kept - extra));
  shares.resident = room - extra - batch(shares.tokens);
  return shares;
}

int64_t fit_budget(StreamedWeights& weights, const LayerwiseForward& layerwise,
                   const data::Processor& processor, uint64_t budget, int64_t longest,
                   int64_t most) {
  const auto batch = [&](int64_t tokens) {
    return batch_bytes(weights, layerwise, processor, tokens);
  };
  const std::vector<int32_t> order = layerwise.matrices();
  const uint64_t fixed = resident_bytes() + kSlack + weights.fixed_bytes(order);
  const uint64_t least = std::max(peak_resident_bytes(), fixed + batch(longest));
  if (budget < least) {
    // The number is rounded up: the least that is named must do.
    fail(ErrorKind::usage,
         "memory_budget: {:.1f} MB is too little for this model and {} tokens a text; the least "
         "is {} MB",
         megabytes(budget), longest, least / 1'000'000 + 1);
  }
  const BudgetShares shares =
      share_out(budget - fixed, matrix_bytes(weights, order), longest, most, batch);
  weights.load(order, shares.resident, shares.huge_pages, shares.tokens);
  return shares.tokens;
}

}  // namespace hone::infer
