#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// dtable row ids[t] += dsum row t for t < tokens, for up to three tables in the same launches: a
/// row's tokens are summed in their order, in runs of 32, then added. dsum is dense [tokens,
/// width]. Where rows are marked, those that are not yet are set (=): what they held counts for
/// nothing, and what rows hold that nobody marks is neither read nor written.
struct EmbeddingGradient {
  const int32_t* ids = nullptr;  ///< [tokens], in range; null: all 0
  float* dtable = nullptr;       ///< [entries, width]; null: frozen
  uint8_t* touched = nullptr;    ///< [entries]: the marks, 0 or 1; null: all rows are added to
};
struct EmbeddingBackward {
  DType dtype = DType::f32;
  int64_t tokens = 0, width = 0;
  const void* dsum = nullptr;
  EmbeddingGradient tables[3];
};
size_t embedding_backward_workspace(int64_t tokens, int64_t width);
Status embedding_backward(const EmbeddingBackward& args, void* workspace, Stream stream);

}  // namespace hone::kernels::cuda
