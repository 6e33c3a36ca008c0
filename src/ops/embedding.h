#pragma once

#include "plan/plan.h"

namespace hone::ops {

struct EmbeddingWeights {
  Weight word;
  Weight position;  ///< may be absent
  Weight type;      ///< may be absent
  Weight norm_weight;
  Weight norm_bias;
  float eps;
};

/// y = layer_norm(word[ids] + position[positions] + type[types]); ids, positions and types are
/// int32 [tokens, 1], each in the range of its table.
Value embed_tokens(Plan& plan, Value ids, Value positions, Value types,
                   const EmbeddingWeights& weights, DType out);

}  // namespace hone::ops
