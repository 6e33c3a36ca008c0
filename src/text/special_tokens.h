#pragma once

#include <string>
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
  /// Notes a token, unless one of that text is noted.
  void add(const AddedToken& token);
  /// Notes those of added_tokens_decoder by id. To be called first: they carry their own flags.
  void add_decoder();
  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  AddedToken read(const Json& json, const std::string& path, bool normalized) const;

  const Json& config_;
  std::string file_;
  std::vector<AddedToken> tokens_;
};

}  // namespace hone::text
