#pragma once

#include <array>
#include <string>
#include <utility>

#include "text/bpe_merges.h"
#include "text/model.h"
#include "text/vocab_table.h"

namespace hone::text {

class BpeWord;

struct BpeOptions {
  std::string unk_token = "";  ///< empty: unknown characters vanish, as in Hugging Face's BPE
  std::string continuing_subword_prefix = "";
  std::string end_of_word_suffix = "";
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  ///< a whole pre-token that is in the vocabulary is one token
};

/// Byte-pair encoding as Hugging Face `tokenizers` does it: the pair of lowest rank is merged
/// first, and the leftmost of equal ranks.
class Bpe : public Model {
 public:
  /// `vocab` is token and id in any order, a token at most once. Merges are in order of rank; one
  /// that names a token that the vocabulary lacks is an error. `file` names the source in errors.
  /// An unk_token that the vocabulary lacks is an error when it is first needed.
  Bpe(const std::vector<std::pair<std::string, int32_t>>& vocab,
      const std::vector<std::pair<std::string, std::string>>& merges, BpeOptions options,
      const std::string& file);

  std::unique_ptr<Scratch> make_scratch() const override;
  /// Pieces' ranges are the running sum of the tokens' lengths, as `tokenizers` counts them: where
  /// characters vanish (no unk_token) the ranges close up over them.
  void tokenize(std::string_view pretoken, Scratch& scratch,
                std::vector<Piece>& out) const override;
  int32_t id_of(std::string_view token) const override { return vocab_.id_of(token); }
  std::string_view token_of(int32_t id) const override { return vocab_.token_of(id); }
  size_t size() const override { return vocab_.size(); }

  /// Says whether the vocabulary has all 256 characters of the ByteLevel alphabet and no option
  /// stands in the way, so that tokenize_bytes() may be used.
  bool is_byte_level() const { return byte_level_; }
  /// Gives what tokenize() gives for the ByteLevel form of `raw`, without making that form: `raw`
  /// is a pre-token before ByteLevel's byte-to-character table, and pieces cover bytes of `raw`. It
  /// is called only where is_byte_level().
  void tokenize_bytes(std::string_view raw, Scratch& scratch, std::vector<Piece>& out) const;

 private:
  struct Memory;

  void add_characters(std::string_view text, Memory& memory) const;
  bool add_fallback(std::string_view character, BpeWord& word) const;

  VocabTable vocab_;
  BpeMerges merges_;
  BpeOptions options_;
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> fallback_ids_;  ///< ids of <0x00> to <0xFF>, -1 where there is none
  std::array<int32_t, 256> byte_ids_;      ///< ids of the ByteLevel alphabet's characters
  bool byte_level_ = false;
  std::string file_;
};

}  // namespace hone::text
