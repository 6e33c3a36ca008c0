#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "data/processor.h"
#include "infer/layerwise_forward.h"
#include "infer/streamed_weights.h"

namespace hone::infer {

/// A batch under a budget has at most this many sequences.
inline constexpr int64_t kBudgetSequences = 64;

/// The bytes of the matrices that a pass reads.
struct MatrixBytes {
  uint64_t all = 0;
  uint64_t repeated = 0;         ///< bytes of those that it reads more than once
  uint64_t huge_page_extra = 0;  ///< see StreamedWeights::huge_page_extra()
};

struct BudgetShares {
  int64_t tokens = 0;     ///< tokens of a batch
  uint64_t resident = 0;  ///< bytes for matrices that stay
  bool huge_pages = false;
};

/// Shares out `room`, in which batch(longest) fits. Where all matrices fit beside the longest text
/// they all stay, and none comes twice. Else those of a shared layer, or of a pooler that all exits
/// share, come before a large batch. Windows on huge pages take a third off what a pass loses, so
/// they are worth a third of the tokens.
BudgetShares share_out(uint64_t room, const MatrixBytes& matrices, int64_t longest, int64_t most,
                       FunctionRef<uint64_t(int64_t tokens)> batch);

/// Shares out what a budget leaves beside what the process has resident now, and loads those
/// weights that are always there. Gives the tokens of a batch, at most `most`, never fewer than
/// `longest`. A budget that is too small is a usage error that names the least that would do;
/// nothing has been loaded then.
int64_t fit_budget(StreamedWeights& weights, const LayerwiseForward& layerwise,
                   const data::Processor& processor, uint64_t budget, int64_t longest,
                   int64_t most);

}  // namespace hone::infer
