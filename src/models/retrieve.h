#pragma once

#include <memory>
#include <optional>

#include "autograd/tape.h"
#include "explain/concepts.h"
#include "models/device_concepts.h"

namespace hone::models {

/// The axis of what is retrieved: as many rows as there are read rows and neighbours of each.
inline constexpr Axis kNeighbours{8};

/// Holds what plans retrieve from, which may be replaced between runs; without concepts nothing is
/// found.
class ConceptSlot {
 public:
  void set(std::shared_ptr<const explain::Concepts> concepts) {
    concepts_ = std::move(concepts);
    if (on_device_) on_device_->set(concepts_.get());
  }
  const explain::Concepts* concepts() const { return concepts_.get(); }
  /// Gives them as a GPU's kernels read them, which are there from the first call on.
  const kernels::cuda::ConceptTable* table() {
    if (!on_device_) on_device_ = std::make_unique<DeviceConcepts>(concepts_.get());
    return on_device_->table();
  }

 private:
  std::shared_ptr<const explain::Concepts> concepts_;
  std::unique_ptr<DeviceConcepts> on_device_;
};

struct Retrieved {
  Value found;       ///< int32 [texts, k], indices of concepts, best first; -1: there were fewer
  Value similarity;  ///< fp32 [texts, k], their scores; 0 where there is none
  Value vectors;     ///< fp32 [texts * k, width], zeros where there is none
};

/// Gives the vectors of concepts that were found before, fp32 [texts * k, width], of `found`, int32
/// [texts, k]; zeros where an index is below 0.
Value concept_vectors(Tape& tape, Value found, int64_t width, std::shared_ptr<ConceptSlot> slot);

/// Retrieves the k concepts nearest to each row of u, fp32, which is not a gradient's way: vectors
/// are constants. Where `rows` is present, int64 [texts, 1], it has the training rows of the texts,
/// whose own phrases are not found.
Retrieved retrieve(Tape& tape, Value u, std::optional<Value> rows, int64_t k,
                   std::shared_ptr<ConceptSlot> slot);

}  // namespace hone::models
