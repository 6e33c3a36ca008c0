#pragma once

#include <cstdint>

#include "models/encoder.h"

namespace hone::models {

/// Fills the encoder's parameters as its families start training: matrices and tables normal with
/// standard deviation `std`, norms 1, biases 0. A tensor's values depend on the seed and on its
/// slot alone.
void init_random(Encoder& encoder, uint64_t seed, float std, ThreadPool& pool);

}  // namespace hone::models
