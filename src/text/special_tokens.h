#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "text/added_tokens.h"

namespace hone::text {

/// The special tokens of a family, with what tokenizer_config.json says instead.
class SpecialTokens {
 public:
  /// `config` must outlive this; `file` names it in errors.
  SpecialTokens(const Json& config, std::string file) : config_(config), file_(std::move(file)) {}

  /// Notes the token of a role ("cls_token") and gives its text.
  std::string add(const char* role, const char* fallback);
  /// Notes a token, unless one with its text is noted.
  void add(const AddedToken& token);
  /// Notes the tokens of added_tokens_decoder by id. This call comes first: they carry their own
  /// flags.
  void add_decoder();
  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  AddedToken read(const Json& json, const std::string& path, bool normalized) const;

  const Json& config_;
  std::string file_;
  std::vector<AddedToken> tokens_;
  std::unordered_set<std::string> noted_;  ///< texts of noted tokens; a hostile file has many
};

}  // namespace hone::text
