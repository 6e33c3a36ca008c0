#pragma once

#include <vector>

#include "cli/serve_options.h"

namespace hone::cli {

/// The models that the flags name. Their settings look at the folder whenever they are asked for; a
/// model that needs more memory than there is is an error then.
std::vector<serve::ModelSpec> model_specs(const ServeFlags& flags, const CommonOptions& common);

}  // namespace hone::cli
