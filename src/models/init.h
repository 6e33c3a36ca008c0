#pragma once

#include <cstdint>

#include "models/model.h"

namespace hone::models {

/// Fills an allocated parameter as training starts from: as Model::initial() says, else matrices
/// and tables normal with standard deviation `std`, norms 1, biases 0; adapters so that they add
/// nothing yet. Values depend on the seed and on the parameter's first tensor's name alone.
void init_parameter(Model& model, const nn::Parameter& parameter, uint64_t seed, float std);

/// Allocates the model's parameters and fills them all.
void init_random(Model& model, uint64_t seed, float std, ThreadPool& pool);

}  // namespace hone::models
