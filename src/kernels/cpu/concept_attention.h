#pragma once

#include <cstdint>

#include "base/thread_pool.h"

/// Attention of a sentence's vector over itself and over what was retrieved for it. T is float or
/// double.
namespace hone::kernels {

struct ConceptAttentionSizes {
  int64_t texts;
  int64_t neighbours;  ///< most that a text has
  int64_t width;
  int64_t heads;  ///< divides the width
};

/// What the attention reads. A row of keys and values is [key, value], 2 * width.
template <typename T>
struct ConceptAttentionInputs {
  const T* query;        ///< [texts, width]
  const T* own;          ///< [texts, 2 * width], of the sentence itself
  const T* retrieved;    ///< [texts * neighbours, 2 * width]
  const int32_t* found;  ///< [texts, neighbours]; below 0: no neighbour, which counts for nothing
};

/// y [texts, width] = sum of values by softmax(query key / sqrt(width / heads)), a head each.
/// `shares` [texts, heads, 1 + neighbours] becomes the softmax, that of the sentence itself first.
template <typename T>
void concept_attention(const ConceptAttentionInputs<T>& in, const ConceptAttentionSizes& sizes,
                       T* y, T* shares, ThreadPool& pool);

/// Sets (=) the gradients, which have the shapes of what they are of.
template <typename T>
void concept_attention_backward(const T* dy, const T* shares, const ConceptAttentionInputs<T>& in,
                                const ConceptAttentionSizes& sizes, T* dquery, T* down,
                                T* dretrieved, ThreadPool& pool);

/// Gives what each neighbour adds to y, [texts * neighbours, width].
void concept_contexts(const float* retrieved, const float* shares, const int32_t* found,
                      const ConceptAttentionSizes& sizes, float* y, ThreadPool& pool);

}  // namespace hone::kernels
