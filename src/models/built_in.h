#pragma once

#include "models/new_model.h"

namespace hone::models {

inline constexpr const char* kBuiltIn = "built-in";

/// Makes the small model that reads the built-in reviews' words. Texts are cut to `max_length`.
NewModel built_in_model(int64_t max_length);

}  // namespace hone::models
