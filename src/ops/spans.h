#pragma once

#include "autograd/tape.h"

/// What a parser does behind an encoder: rows of spans, and the loss over whole trees.
namespace hone::ops {

/// The values of a batch that say where words lie among its tokens; see kernels::SpanPlaces.
struct SpanInputs {
  Value offsets;  ///< int32, where each text's tokens begin; one more than texts
  Value bounds;   ///< int32, where its bounds between words begin
  Value cells;    ///< int32, where its cells begin
  Value before;   ///< int32 [bounds, 1], the row of the last token before a bound
  Value behind;   ///< int32 [bounds, 1], the row of the first token behind it
  Axis cell_axis = {};
};

/// Gives a row for each cell, [cells, width / 4] in x's dtype (fp32), of x [tokens, width], as
/// kernels::span_rows() does. Backward sets x's gradient to itself plus its share.
Value span_rows(Tape& tape, Value x, const SpanInputs& spans);

struct TreeLossInputs {
  Value scores;  ///< fp32 [cells, 1]
  Value gold;    ///< int32 [cells, 1]: 1 where the span is a constituent of the text's tree, else 0
  SpanInputs spans;
  Value scale;  ///< fp64 [1, 2], as in LossInputs
  /// int32 [texts, 1], where present: 0 for a text without a tree, which counts for nothing.
  Value given = {};
};

struct ParseInputs {
  Value scores;   ///< fp32 [cells, 1]
  Value given;    ///< int32 [texts, 1]: 1 where the text's phrases are known, else 0
  Value phrases;  ///< int32, where each text's places for phrases begin; one more than texts
  Value known;    ///< int32 [phrases, 2], token rows; read of texts whose phrases are known
  SpanInputs spans;
};

/// Gives the phrases of each text, int32 [phrases, 2]: the token rows [begin, end) of those that
/// are known, else of the constituents that kernels::best_tree() finds in the marginals of the
/// scores. The whole is left out; places behind the last phrase are empty (begin = end). There is
/// no gradient.
Value parse_phrases(Tape& tape, const ParseInputs& inputs, double threshold);

/// Gives the batch's share of the mean over texts of -log p(tree), fp64 [1, 1], times `weight`: a
/// conditional random field over all trees, whose probability goes with e^(sum of the scores of
/// their constituents). Sums are in fp64. Sets (=) the gradient of the scores.
Value tree_loss(Tape& tape, const TreeLossInputs& inputs, double weight = 1);

}  // namespace hone::ops
