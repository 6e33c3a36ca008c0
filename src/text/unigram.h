#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "text/model.h"
#include "text/unigram_trie.h"

namespace hone::text {

/// SentencePiece's unigram model with the Viterbi pass of Hugging Face `tokenizers`: scores in
/// double, an unknown character costs the lowest score less 10, neighbouring unknowns are one
/// token, and of equal paths the one found first (whose last piece is longest) stays.
class Unigram : public Model {
 public:
  /// The id of a piece is its index; of equal pieces the last counts. `file` names the source in
  /// errors.
  Unigram(const std::vector<std::pair<std::string, double>>& pieces, std::optional<int32_t> unk_id,
          bool byte_fallback, const std::string& file);

  std::unique_ptr<Scratch> make_scratch() const override;
  /// The tokens of a byte fallback all cover the whole unknown run. An unknown character that the
  /// pass cannot do without is an error (bad_file) where there is no unk_id.
  void tokenize(std::string_view pretoken, Scratch& scratch,
                std::vector<Piece>& out) const override;
  int32_t id_of(std::string_view token) const override { return trie_.find(token); }
  std::string_view token_of(int32_t id) const override;
  size_t size() const override { return scores_.size(); }

 private:
  struct Memory;

  void find_best_path(std::string_view text, Memory& memory) const;
  void emit(std::string_view text, Memory& memory, std::vector<Piece>& out) const;
  void emit_unknown(std::string_view text, Piece piece, std::vector<Piece>& out) const;

  std::string bytes_;           ///< the pieces' texts
  std::vector<uint32_t> ends_;  ///< end of each piece in bytes_
  std::vector<double> scores_;
  UnigramTrie trie_;
  int32_t unk_id_ = -1;
  double unk_score_ = 0;
  bool byte_fallback_ = false;
  std::array<int32_t, 256> fallback_ids_;  ///< ids of <0x00> to <0xFF>, -1 where there is none
  std::string file_;
};

}  // namespace hone::text
