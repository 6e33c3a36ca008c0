#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "text/tokenizer_parts.h"

namespace hone::text {

/// A tokenizer from a folder that has no tokenizer.json, as `transformers` makes its fast
/// tokenizers from such a folder. `config` is tokenizer_config.json (an empty object where there
/// is none). `family` may be empty.
TokenizerParts build_from_vocab_files(const std::string& folder, std::string_view family,
                                      const Json& config);

}  // namespace hone::text
