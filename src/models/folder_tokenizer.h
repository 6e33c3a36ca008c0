#pragma once

#include <string>

#include "text/tokenizer.h"

namespace hone::models {

/// Loads the tokenizer of `model`: a model folder or a name in the local cache, a tokenizer.json or
/// its folder.
text::Tokenizer load_tokenizer(const std::string& model);

}  // namespace hone::models
