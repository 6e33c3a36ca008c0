#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace hone::text {

/// Makes a text of tokens again, with the semantics of `tokenizers`' decoders; it is immutable.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// The text of the tokens, as the vocabulary spells them.
  virtual std::string decode(const std::vector<std::string>& tokens) const = 0;
};

/// Pieces that begin with `prefix` go on with the word before them. `cleanup` takes the space off
/// before marks and contractions.
std::unique_ptr<Decoder> wordpiece_decoder(std::string prefix = "##", bool cleanup = true);
/// GPT-2's alphabet back to bytes; what is then no UTF-8 becomes U+FFFD.
std::unique_ptr<Decoder> byte_level_decoder();
/// `replacement`, one character, back to spaces; at the first token's begin it goes where
/// `prepended`.
std::unique_ptr<Decoder> metaspace_decoder(std::string replacement, bool prepended);
/// Words end with `suffix`.
std::unique_ptr<Decoder> bpe_decoder(std::string suffix);

/// Makes the decoder of a tokenizer.json. One that is not known is made too, since texts can be
/// encoded without it; it fails (unsupported) when it is used.
std::unique_ptr<Decoder> build_decoder(const Json& json, const std::string& file);

}  // namespace hone::text
