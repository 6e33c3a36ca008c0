#pragma once

#include <string_view>

#include "models/family.h"
#include "models/model_config.h"

/// What families without int8, adapters and early exits have in common.
namespace hone::models {

/// Gives the options; fails, naming the model ("an lstm"), where they or the config ask for
/// something that such a family lacks.
const MakeOptions& plain_options(std::string_view model, const ModelConfig& config,
                                 const MakeOptions& options);

/// Gives the dtype that such a family's weights are kept in: a GPU's plans read shadows.
DType dtype_of_weights(const MakeOptions& options);

}  // namespace hone::models
