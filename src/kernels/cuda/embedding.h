#pragma once

#include "kernels/cuda/layer_norm.h"

namespace hone::kernels::cuda {

/// The rows of the word, type and position tables are summed, as kernels/cpu/embedding.h does it.
struct EmbeddingForward {
  DType table_dtype = DType::f32;
  const void* word = nullptr;             ///< [entries, width]; no id is out of range
  const void* type = nullptr;             ///< null: none
  const void* position = nullptr;         ///< null: none
  const int32_t* word_ids = nullptr;      ///< [rows]
  const int32_t* type_ids = nullptr;      ///< [rows]; null: all 0
  const int32_t* position_ids = nullptr;  ///< [rows]; given where there is a position table
};
/// Normalises the sum of the rows; x, bias, residual and dropout of `norm` are not read.
Status embed_and_normalize(const EmbeddingForward& embedding, const NormForward& norm,
                           Stream stream);

/// dtable row ids[t] += dsum row t for t < tokens. Where rows have marks, a row that is not marked
/// yet is set (=) and marked: what it held counts for nothing, and rows without a token are neither
/// read nor written.
struct EmbeddingGradient {
  const int32_t* ids = nullptr;  ///< [tokens], in range; null: all 0
  float* dtable = nullptr;       ///< [entries, width]; null: frozen
  uint8_t* touched = nullptr;    ///< [entries]: the marks, 0 or 1; null: all rows are added to
};
/// Up to three tables get their gradients in the same launches. A row's tokens are summed in their
/// order, in runs of 32, then added.
struct EmbeddingBackward {
  DType dtype = DType::f32;
  int64_t tokens = 0, width = 0;
  const void* dsum = nullptr;  ///< dense [tokens, width]
  EmbeddingGradient tables[3];
};
/// Bytes of workspace that embedding_backward() takes.
size_t embedding_backward_workspace(int64_t tokens, int64_t width);
Status embedding_backward(const EmbeddingBackward& args, void* workspace, Stream stream);

}  // namespace hone::kernels::cuda
