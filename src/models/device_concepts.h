#pragma once

#include "device/cuda.h"
#include "explain/concepts.h"
#include "kernels/cuda/concepts.h"

namespace hone::models {

/// Concepts in the memory of the selected GPU, in fp32, for plans that retrieve there. The host
/// sends vectors when a model gets its concepts, in training once an epoch; a step sends and
/// fetches nothing.
class DeviceConcepts {
 public:
  explicit DeviceConcepts(const explain::Concepts* concepts);
  /// Sends them, behind all that was started; null: plans find nothing from now on.
  void set(const explain::Concepts* concepts);
  /// Gives what kernels read. It stays where it is, so that recorded graphs find what was set last.
  const kernels::cuda::ConceptTable* table() const {
    return table_.as<const kernels::cuda::ConceptTable>();
  }

 private:
  CudaBuffer table_;
  CudaBuffer vectors_, biases_, mean_, norms_, own_begins_, own_;
};

}  // namespace hone::models
