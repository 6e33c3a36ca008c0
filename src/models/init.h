#pragma once

#include <cstdint>

#include "models/encoder.h"

namespace hone::models {

/// Fills an allocated parameter as training starts from: matrices and tables normal with standard
/// deviation `std`, norms 1, biases 0; adapters so that they add nothing yet. Values depend on the
/// seed and on the parameter's first tensor's name alone.
void init_parameter(nn::Parameters& parameters, const nn::Parameter& parameter, uint64_t seed,
                    float std);

/// Allocates the encoder's parameters and fills them all.
void init_random(Encoder& encoder, uint64_t seed, float std, ThreadPool& pool);

}  // namespace hone::models
