#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/aligned_text.h"

namespace hone::text {

/// Tokens that are not spelled as the vocabulary spells their id: added tokens that took spaces
/// along, and unknown pieces, by their place.
using OddTokens = std::vector<std::pair<uint32_t, std::string>>;

/// The tokens of one text before special ones are added. Offsets are in bytes until
/// Tokenizer turns them into code points.
struct TokenList {
  std::vector<int32_t> ids;
  std::vector<Span> offsets;
  OddTokens odd;

  void clear() {
    ids.clear();
    offsets.clear();
    odd.clear();
  }
};

/// Holds what a model reads of a text or a pair of texts. Reuse one to reuse its memory.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;
  /// Code points of the text that the token comes from; {0, 0} for special tokens.
  std::vector<Span> offsets;
  /// 1 where the token was added by the post-processor.
  std::vector<uint8_t> special;
  OddTokens odd;
  /// Number of tokens, special ones included, before truncation.
  size_t untruncated = 0;

  size_t size() const { return ids.size(); }
  size_t truncated() const { return untruncated - ids.size(); }
};

struct Truncation {
  enum class Strategy { longest_first, only_first, only_second };
  enum class Direction { right, left };

  size_t max_length = 512;  ///< special tokens included
  Strategy strategy = Strategy::longest_first;
  Direction direction = Direction::right;
};

/// Shortens `first` and, where there is one, `second` to `room` tokens in all.
void truncate(const Truncation& truncation, size_t room, TokenList& first, TokenList* second);

}  // namespace hone::text
