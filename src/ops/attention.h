#pragma once

#include "autograd/tape.h"
#include "ops/dropout.h"

namespace hone::ops {

/// Embeddings of the distance between query and key: [2 * positions - 1, head size], fp32.
struct RelativePositions {
  Weight table;            ///< absent: none
  bool with_keys = false;  ///< relative_key_query: the key meets the distance too
};

struct AttentionInputs {
  Value q;  ///< [query rows, hidden]
  /// [tokens, 2 * hidden]: keys, then values. On a GPU q and kv may be one value, [tokens, 3 *
  /// hidden]: queries, keys, values.
  Value kv;
  Axis longest = Axis::one;  ///< no sequence has more rows; read by plans for a GPU alone
  bool one_query = false;    ///< every sequence has one query; read by plans for a GPU alone
  Value q_offsets;           ///< int32, one more than sequences: which query rows a sequence has
  Value offsets;             ///< int32, one more than sequences: which key rows a sequence has
  /// int32 [query rows, 1], the place of a query within its sequence; needed with distances alone.
  Value q_places;
  int64_t heads = 1;
  DropoutSite dropout = {};  ///< drops probabilities; its rows are the queries
};

/// Bidirectional attention within each packed sequence, scaled by 1/sqrt(head size):
/// [query rows, hidden] in q's dtype. Training keeps the output and the log-sums of the scores;
/// backward computes the probabilities again.
Value attention(Tape& tape, const AttentionInputs& inputs, const RelativePositions& relative = {});

}  // namespace hone::ops
