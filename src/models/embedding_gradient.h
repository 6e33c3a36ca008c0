#pragma once

#include <optional>

#include "models/pass.h"

namespace hone::models {

struct EncoderConfig;

/// The passes by which the answer's gradient is taken where the words enter an encoder. No gradient
/// of a weight is computed, nothing is dropped.
struct EmbeddingGradient {
  Pass embeddings;  ///< its output is what the first layer reads: fp32 [tokens, hidden]
  Pass layers;      ///< its output is the logits of `rows`
  Value rows;       ///< is bound to `layers`: the embeddings' output
  Value direction;  ///< is bound to `layers`: fp32 [samples, labels], how much of each logit
  Value gradient;   ///< the gradient of sum(direction * logits) by the rows; kept
  /// The concepts of a self-explaining model, to be bound to `layers`: int32 [samples, neighbours],
  /// of each sample; its phrases are those that the batch gives.
  std::optional<Value> found = {};
};

/// Makes a config one of a model that drops nothing in training either.
void drop_nothing(EncoderConfig& config);

}  // namespace hone::models
