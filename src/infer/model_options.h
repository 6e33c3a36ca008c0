#pragma once

#include <string>

#include "hone/hone.h"
#include "infer/session.h"

namespace hone::infer {

/// Says what the public options mean for this model. Wrong values are usage errors that name the
/// field.
SessionOptions session_options(const std::string& model, const ModelOptions& options);

}  // namespace hone::infer
