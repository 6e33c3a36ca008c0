#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/encoding.h"

namespace hone::text {

/// Puts special tokens around the texts. Every kind that hone knows (Template, Bert, Roberta,
/// ByteLevel, and sequences of them) comes down to a list of parts and two flags.
struct PostProcessor {
  struct Special {
    int32_t id;
    std::string token;
  };
  struct Part {
    enum class Kind { first, second, special };
    Kind kind;
    int32_t type_id;
    std::vector<Special> specials;  ///< the tokens of a part of Kind::special
  };

  std::vector<Part> single{{Part::Kind::first, 0, {}}};
  std::vector<Part> pair{{Part::Kind::first, 0, {}}, {Part::Kind::second, 1, {}}};
  bool trim_offsets = false;      ///< spaces at a token's ends are not part of it
  bool add_prefix_space = false;  ///< what trim_offsets must know of the pre-tokenizer

  /// Number of special tokens that are put around one text or two.
  size_t added(bool is_pair) const;
  /// Sets all of `out` but untruncated. `second` is null for one text.
  void process(const TokenList& first, const TokenList* second, bool add_special_tokens,
               Encoding& out) const;
};

}  // namespace hone::text
