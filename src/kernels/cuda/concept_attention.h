#pragma once

#include "kernels/cuda/launch.h"

/// Attention of a sentence's vector over itself and over what was retrieved for it, as
/// kernels/cpu/concept_attention.h describes it, in fp32.
namespace hone::kernels::cuda {

struct ConceptAttention {
  int64_t texts = 0, neighbours = 0, width = 0, heads = 1;
  const float* query = nullptr;      ///< [texts, width]
  const float* own = nullptr;        ///< [texts, 2 * width], keys and values
  const float* retrieved = nullptr;  ///< [texts * neighbours, 2 * width]
  const int32_t* found = nullptr;    ///< [texts, neighbours]; below 0: no neighbour
};

/// Sets (=) y [texts, width] and shares [texts, heads, 1 + neighbours].
Status concept_attention(const ConceptAttention& args, float* y, float* shares, Stream stream);

struct ConceptAttentionBackward {
  const float* dy = nullptr;
  const float* shares = nullptr;
  float* dquery = nullptr;      ///< =
  float* down = nullptr;        ///< =
  float* dretrieved = nullptr;  ///< =
};
Status concept_attention_backward(const ConceptAttention& args,
                                  const ConceptAttentionBackward& gradients, Stream stream);

/// Gives what each neighbour adds to y, [texts * neighbours, width]. Of `args` it reads sizes,
/// retrieved and found.
Status concept_contexts(const ConceptAttention& args, const float* shares, float* y, Stream stream);

}  // namespace hone::kernels::cuda
