#pragma once

#include "autograd/tape.h"
#include "ops/layer_norm.h"

namespace hone::ops {

struct EmbeddingWeights {
  Weight word;
  Weight position;  ///< may be absent
  Weight type;      ///< may be absent
  NormParameters norm;
  /// Rows that get no gradient, as torch's padding_idx; -1: none.
  int64_t word_padding = -1;
  int64_t position_padding = -1;
};

/// int32 [tokens, 1] each, in the range of its table.
struct EmbeddingIds {
  Value word;
  Value position;
  Value type;
};

/// y = dropout(layer_norm(word[ids] + position[positions] + type[types])). Backward adds (+=) to
/// the rows of the tables that were read, and to the norm's parameters.
Value embed_tokens(Tape& tape, const EmbeddingIds& ids, const EmbeddingWeights& weights, DType out,
                   const DropoutSite& drop = {});

}  // namespace hone::ops
