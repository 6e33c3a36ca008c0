#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "infer/layered.h"
#include "infer/streamed_weights.h"

namespace hone::infer {

/// Sequences of a batch under a budget.
inline constexpr int64_t kBudgetSequences = 64;

/// Of the matrices of a pass.
struct MatrixBytes {
  uint64_t all = 0;
  uint64_t repeated = 0;  ///< of those that it reads more than once
  uint64_t wide = 0;      ///< see StreamedWeights::wide_extra()
};

struct BudgetShares {
  int64_t tokens = 0;     ///< of a batch
  uint64_t resident = 0;  ///< bytes for matrices that stay
  bool wide = false;
};

/// Of `room`, in which batch(longest) fits. Where all matrices fit beside the longest text they all
/// stay, and none comes twice. Else those of a shared layer, or of a pooler that all exits share,
/// come before a large batch. Wide windows take a third off what a pass loses, so they are worth a
/// third of the tokens.
BudgetShares share_out(uint64_t room, const MatrixBytes& matrices, int64_t longest, int64_t most,
                       FunctionRef<uint64_t(int64_t tokens)> batch);

/// Shares out what a budget leaves beside what the process has resident now, and loads those
/// weights that are always there. Gives the tokens of a batch, at most `most`, never fewer than
/// `longest`. A budget that is too small is a usage error that names the least that would do;
/// nothing has been loaded then.
int64_t fit_budget(StreamedWeights& weights, const Layered& layered, uint64_t budget,
                   int64_t longest, int64_t most);

}  // namespace hone::infer
