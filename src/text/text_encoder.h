#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/bert_scanner.h"
#include "text/bpe.h"
#include "text/tokenizer_parts.h"

namespace hone::text {

/// Immutable; turns one text into its tokens by added tokens, normaliser, pre-tokenizers and model.
class TextEncoder {
 public:
  /// A thread's working memory.
  struct Memory {
    std::unique_ptr<Model::Scratch> scratch;
    std::vector<Piece> pieces;
    std::vector<AddedTokens::Match> raw_matches;
    std::vector<AddedTokens::Match> matches;
    AlignedText normalized;
    AlignedText spare;
    Words words;
    WordsMemory words_memory;
  };

  explicit TextEncoder(TokenizerParts parts);
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;

  Memory make_memory() const;
  /// Replaces `out` with the tokens of `text` (valid UTF-8). Offsets are bytes of `text`.
  void encode(std::string_view text, Memory& memory, TokenList& out) const;

  const TokenizerParts& parts() const { return parts_; }
  const AddedTokens& added() const { return added_; }

 private:
  void add_segment(std::string_view text, uint32_t origin, Memory& memory, TokenList& out) const;
  void add_general(std::string_view text, uint32_t origin, Memory& memory, TokenList& out) const;
  void add_words(Memory& memory, TokenList& out) const;
  void add_word(const AlignedText& text, Span range, Memory& memory, TokenList& out) const;
  void add_token(int32_t id, std::string_view found, Span source, TokenList& out) const;

  TokenizerParts parts_;
  AddedTokens added_;
  std::optional<BertScanner> scanner_;  ///< present where the parts are BERT's
  const Bpe* byte_model_ = nullptr;  ///< set where the model takes ByteLevel's words as raw bytes
};

}  // namespace hone::text
