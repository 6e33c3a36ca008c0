#pragma once

#include <string>

#include "data/content_hash.h"
#include "explain/concept_set.h"

namespace hone::explain {

/// What goes into a store besides the phrases.
struct ConceptStoreRecipe {
  data::Hash128 model{};     ///< hash of the model that made the vectors
  DType dtype = DType::f32;  ///< f32, bf16 or u8: int8 with a scale a concept
  const SearchVectors& vectors;
};

/// Reads the name of a store's dtype: fp32, bf16 or int8.
DType parse_store_dtype(const std::string& name);

/// Writes the store of a set, which appears under its name when it is complete. An empty set is an
/// error: nothing could be retrieved from it.
void write_concept_store(const std::string& path, const ConceptSet& concepts,
                         const ConceptStoreRecipe& recipe);

}  // namespace hone::explain
