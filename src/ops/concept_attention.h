#pragma once

#include "autograd/tape.h"

namespace hone::ops {

struct ConceptAttentionValues {
  Value query;      ///< [texts, width], fp32
  Value own;        ///< [texts, 2 * width], the sentence's own key and value
  Value retrieved;  ///< [texts * neighbours, 2 * width]
  Value found;      ///< int32 [texts, neighbours], below 0 where there is no neighbour
  int64_t heads = 1;
};

struct AttendedConcepts {
  Value context;  ///< [texts, width]
  Value shares;   ///< [texts, heads * (1 + neighbours)], the softmax; the sentence's own first
};

/// Attends from each sentence over itself and over what was retrieved for it, as
/// kernels::concept_attention() does. Sets (=) the gradients of all three arrays.
AttendedConcepts attend_concepts(Tape& tape, const ConceptAttentionValues& in);

/// Gives what each neighbour adds to the context, [texts * neighbours, width]. It serves inference
/// alone, and has no gradient.
Value concept_contexts(Tape& tape, const ConceptAttentionValues& in, Value shares);

}  // namespace hone::ops
