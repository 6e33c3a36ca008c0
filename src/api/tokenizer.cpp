#include "hone/tokenizer.h"

#include "api/tokens.h"
#include "models/folder_tokenizer.h"

namespace hone {

Tokens api::tokens_of(const text::Tokenizer& tokenizer, const Text& text, bool special_tokens) {
  text::EncodeOptions options;
  options.add_special_tokens = special_tokens;
  text::Encoding encoding = tokenizer.encode({text.text, text.pair}, options);
  Tokens tokens;
  for (size_t i = 0; i < encoding.size(); ++i) {
    tokens.tokens.push_back(tokenizer.token(encoding, i));
    tokens.offsets.emplace_back(encoding.offsets[i].begin, encoding.offsets[i].end);
  }
  tokens.ids = std::move(encoding.ids);
  tokens.type_ids = std::move(encoding.type_ids);
  return tokens;
}

struct Tokenizer::State {
  text::Tokenizer tokenizer;
};

Tokenizer::Tokenizer(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const std::string& path) {
  return Tokenizer(std::make_unique<const State>(State{models::load_tokenizer(path)}));
}

Tokens Tokenizer::tokenize(const Text& text, bool special_tokens) const {
  return api::tokens_of(state_->tokenizer, text, special_tokens);
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const {
  return state_->tokenizer.decode(ids, skip_special_tokens);
}

int32_t Tokenizer::vocabulary_size() const { return state_->tokenizer.id_end(); }

}  // namespace hone
