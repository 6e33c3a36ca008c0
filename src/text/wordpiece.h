#pragma once

#include <string>
#include <utility>

#include "text/model.h"
#include "text/vocab_table.h"

namespace hone::text {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  int64_t max_input_chars_per_word = 100;
};

/// Takes the longest match first, from the left; a word with any part that has no match is unknown.
class WordPiece : public Model {
 public:
  /// `vocab` is token and id in any order, a token at most once. `file` names it in errors.
  WordPiece(const std::vector<std::pair<std::string, int32_t>>& vocab, WordPieceOptions options,
            const std::string& file);

  std::unique_ptr<Scratch> make_scratch() const override;
  void tokenize(std::string_view pretoken, Scratch& scratch,
                std::vector<Piece>& out) const override;
  int32_t id_of(std::string_view token) const override { return vocab_.id_of(token); }
  std::string_view token_of(int32_t id) const override { return vocab_.token_of(id); }
  size_t size() const override { return vocab_.size(); }
  /// The id of a whole ASCII word whose VocabTable hash is known, or -1.
  int32_t find_whole(std::string_view word, uint64_t hash) const {
    return static_cast<int64_t>(word.size()) <= options_.max_input_chars_per_word
               ? vocab_.find(hash, {}, word)
               : -1;
  }

 private:
  bool cut(std::string_view word, std::vector<Piece>& out) const;
  void add_unknown(std::string_view word, std::vector<Piece>& out) const;

  VocabTable vocab_;
  WordPieceOptions options_;
  std::string file_;
  int32_t unk_id_;
  uint64_t prefix_hash_;
};

}  // namespace hone::text
