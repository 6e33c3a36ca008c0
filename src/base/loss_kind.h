#pragma once

#include <cstdint>

namespace hone {

/// Names the formula by which a head's outputs are judged, on a processor and in a CUDA kernel.
enum class LossKind : uint8_t {
  cross_entropy,
  squared_error,
  binary_cross_entropy,
  soft_cross_entropy  ///< targets are probabilities of all classes
};

}  // namespace hone
