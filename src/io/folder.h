#pragma once

#include <string>

namespace hone::io {

/// Says whether a file is one of weights by the end of its name.
bool is_weights_name(const std::string& path);

/// The folder that `folder_or_name` means: itself where it is a folder or a file of weights, else
/// the snapshot of that name in the local Hugging Face cache (HF_HUB_CACHE, HF_HOME,
/// XDG_CACHE_HOME, ~/.cache). Nothing is downloaded; where there is none, the usage error lists the
/// places looked at. `argument` is what errors say was asked.
std::string resolve_model(const std::string& folder_or_name, const std::string& argument = "model");

}  // namespace hone::io
