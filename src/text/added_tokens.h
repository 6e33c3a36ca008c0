#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/model.h"
#include "text/normalizer.h"

namespace hone::text {

/// A token that is found in the text itself, before any word is cut.
struct AddedToken {
  std::string content;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = true;
  bool special = false;
};

/// The added tokens of a tokenizer, with the semantics of `tokenizers`: those that are not
/// normalized are looked for in the raw text, the others in the normalised text; of those that
/// begin at one place the longest is taken.
class AddedTokens {
 public:
  struct Match {
    int32_t id;  ///< -1: text between tokens
    uint32_t begin;
    uint32_t end;
  };

  /// The ids are the model's, or follow on from its last one; `normalizer` may be null.
  AddedTokens(const std::vector<AddedToken>& tokens, const Model& model,
              const Normalizer* normalizer, const std::string& file);

  bool has_raw() const { return !raw_.patterns.empty(); }
  bool has_normalized() const { return !normalized_.patterns.empty(); }
  /// Replaces `out` with the matches and the stretches between them, which cover `text`.
  void find_raw(std::string_view text, std::vector<Match>& out) const { find(raw_, text, out); }
  void find_normalized(std::string_view text, std::vector<Match>& out) const {
    find(normalized_, text, out);
  }
  int32_t id_of(std::string_view content) const;
  /// Gives the added token of an id, empty where there is none.
  std::string_view token_of(int32_t id) const;
  /// Says whether an id is of an added token that is special.
  bool is_special(int32_t id) const;
  /// Gives one more than the highest id, 0 where there are no added tokens.
  int32_t id_end() const;

 private:
  struct Pattern {
    std::string text;
    int32_t id;
  };
  /// Patterns sorted by first byte and then from long to short.
  struct Set {
    std::vector<Pattern> patterns;
    uint32_t first[257] = {};  ///< patterns that begin with byte b: [first[b], first[b + 1])
  };

  static void sort(Set& set);
  const Pattern* longest_at(const Set& set, std::string_view text, size_t at) const;
  void find(const Set& set, std::string_view text, std::vector<Match>& out) const;

  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<int32_t, AddedToken> tokens_;
  Set raw_;
  Set normalized_;
};

}  // namespace hone::text
