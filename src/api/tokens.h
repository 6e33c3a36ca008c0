#pragma once

#include "hone/text.h"
#include "text/tokenizer.h"

namespace hone::api {

/// Gives the tokens of a text, of which nothing is cut.
Tokens tokens_of(const text::Tokenizer& tokenizer, const Text& text, bool special_tokens);

}  // namespace hone::api
