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

/// The ids are int32 [tokens, 1] each, in the range of their tables.
struct EmbeddingIds {
  Value word;
  Value position;
  Value type;
};

/// Lists the tables that there are, with the ids that pick their rows.
std::vector<TableRows> tables_read(const EmbeddingIds& ids, const EmbeddingWeights& weights);

/// y = dropout(layer_norm(word[ids] + position[positions] + type[types])). Backward adds (+=) to
/// the rows of the tables that were read, and to the norm's parameters.
Value embed_tokens(Tape& tape, const EmbeddingIds& ids, const EmbeddingWeights& weights, DType out,
                   const DropoutSite& drop = {});

/// y = table[ids] in the dtype `out`. Backward adds (+=) to the rows that were read, but to row
/// `padding` (-1: none).
Value embed_words(Tape& tape, Value ids, const Weight& table, int64_t padding, DType out);

}  // namespace hone::ops
