#pragma once

#include "kernels/cuda/launch.h"

/// Concepts that a model retrieves, in device memory: what explain::Concepts does on a processor.
namespace hone::kernels::cuda {

/// All arrays lie in device memory. Rows of vectors are `stride` apart, a multiple of 16, with
/// zeros behind `width`.
struct ConceptTable {
  int64_t count = 0, width = 0, stride = 0;
  const float* vectors = nullptr;  ///< [count, stride], as they are searched
  const float* biases = nullptr;   ///< [count], added to scores; null: none
  const float* mean = nullptr;     ///< [width], what centring took off; null: vectors are as given
  const float* norms = nullptr;    ///< [count], the lengths before it
  int64_t rows = 0;                ///< training rows that must not find their own concepts
  const int64_t* own_begins = nullptr;  ///< [rows + 1], places in `own`
  const int32_t* own = nullptr;         ///< a row's concepts, ascending
};

struct ConceptSearch {
  /// Lies in device memory, as nothing of it is known before the kernels run: a graph that was
  /// recorded finds other concepts there.
  const ConceptTable* table = nullptr;
  int64_t texts = 0, width = 0, k = 0;
  const float* u = nullptr;       ///< [texts, width]
  const int64_t* rows = nullptr;  ///< [texts], the training row of each text; null: none is one
  int32_t* found = nullptr;       ///< = [texts, k], best first, equal scores by index; -1: fewer
  float* similarity = nullptr;    ///< = [texts, k], their scores; 0 where there is none
};
size_t search_concepts_workspace(int64_t texts, int64_t width, int64_t k);
/// Searches every vector, in fp32.
Status search_concepts(const ConceptSearch& args, void* workspace, Stream stream);

/// y [count, width] = the vectors of concepts as the model gave them; zeros where an index is below
/// 0.
Status concept_vectors(const ConceptTable* table, const int32_t* found, int64_t count,
                       int64_t width, float* y, Stream stream);

}  // namespace hone::kernels::cuda
