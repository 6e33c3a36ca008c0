#pragma once

#include <cstdint>

#include "infer/layered.h"
#include "infer/streamed_weights.h"

namespace hone::infer {

/// Sequences of a batch under a budget.
inline constexpr int64_t kBudgetSequences = 64;

/// Shares out what a budget leaves beside what the process has resident now: first activations for
/// a batch of up to `most` tokens, never fewer than `longest`, then as many resident matrices as
/// there is room for; and loads those weights that are always there. Gives the tokens of a batch. A
/// budget that is too small is a usage error that names the least that would do; nothing has been
/// loaded then.
int64_t fit_budget(StreamedWeights& weights, const Layered& layered, uint64_t budget,
                   int64_t longest, int64_t most);

}  // namespace hone::infer
