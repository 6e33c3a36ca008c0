#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "text/model_json.h"
#include "text/regex.h"
#include "text/tokenizer_parts.h"

namespace hone::text {

// The parts of a tokenizer.json. A component or a value that hone does not know is an error
// (unsupported) that names file, component and value. `path` is the JSON path of `json`.

std::unique_ptr<Normalizer> build_normalizer(const Json& json, const std::string& file,
                                             const std::string& path);
/// Appends the pre-tokenizers of `json`; a Sequence becomes its members.
void build_pre_tokenizers(const Json& json, const std::string& file, const std::string& path,
                          std::vector<std::unique_ptr<PreTokenizer>>& out);
PostProcessor build_post_processor(const Json& json, const std::string& file);
std::vector<AddedToken> build_added_tokens(const Json& json, const std::string& file);
std::optional<Truncation> build_truncation(const Json& json, const std::string& file);
/// Sets model, model_id_end and spelled_as_text. Takes the lists out of `json`.
void build_model(TokenizerJson& json, TokenizerParts& parts);

/// Reads the "pattern" of Replace and Split: {"String": ...} or {"Regex": ...}.
Pattern build_pattern(const JsonFields& fields, const std::string& path);

/// Builds all parts of the tokenizer.
TokenizerParts build_tokenizer(TokenizerJson json, const std::string& file);

/// Reads model_max_length, where it is a length.
std::optional<int64_t> read_model_max_length(const Json& tokenizer_config);

[[noreturn]] void fail_unsupported(const std::string& file, const std::string& path,
                                   std::string_view value);

}  // namespace hone::text
