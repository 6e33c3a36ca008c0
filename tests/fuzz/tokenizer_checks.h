#pragma once

#include <string_view>

#include "text/tokenizer.h"

namespace hone::text {

/// Encodes a few texts, and spells every token.
inline void encode_samples(const Tokenizer& tokenizer) {
  EncodeOptions options;
  options.truncation = tokenizer.truncation();
  for (const std::string_view text : {"Hello, w\xC3\xB6rld! don't [MASK] a\xCC\x81\xCC\xA3  "
                                      "\xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x91\x8D",
                                      "", "\xFF\xED\xA0\x80 a"}) {
    const Encoding encoding = tokenizer.encode({text, "pair"}, options);
    for (size_t i = 0; i < encoding.size(); ++i) tokenizer.token(encoding, i);
  }
}

}  // namespace hone::text
