#pragma once

#include <memory>
#include <optional>

#include "autograd/tape.h"
#include "explain/concepts.h"

namespace hone::models {

/// The axis of what is retrieved: as many rows as there are read rows and neighbours of each.
inline constexpr Axis kNeighbours{8};

/// Holds what plans retrieve from, which may be replaced between runs; without concepts nothing is
/// found.
struct ConceptSlot {
  std::shared_ptr<const explain::Concepts> concepts;
};

struct Retrieved {
  Value found;       ///< int32 [texts, k], indices of concepts, best first; -1: there were fewer
  Value similarity;  ///< fp32 [texts, k], their scores; 0 where there is none
  Value vectors;     ///< fp32 [texts * k, width], zeros where there is none
};

/// Gives the vectors of concepts that were found before, fp32 [texts * k, width], of `found`, int32
/// [texts, k]; zeros where an index is below 0.
Value concept_vectors(Tape& tape, Value found, int64_t width,
                      std::shared_ptr<const ConceptSlot> slot);

/// Retrieves the k concepts nearest to each row of u, fp32, which is not a gradient's way: vectors
/// are constants. Where `rows` is present, int64 [texts, 1], it has the training rows of the texts,
/// whose own phrases are not found.
Retrieved retrieve(Tape& tape, Value u, std::optional<Value> rows, int64_t k,
                   std::shared_ptr<const ConceptSlot> slot);

}  // namespace hone::models
