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
/// token, and of equal paths the one found first (the longest last piece) stays.
class Unigram : public Model {
 public:
  /// The id of a piece is its index. `file` names the source in errors.
  Unigram(std::vector<std::pair<std::string, double>> pieces, std::optional<int32_t> unk_id,
          bool byte_fallback, const std::string& file);

  std::unique_ptr<Scratch> make_scratch() const override;
  /// The tokens of a byte fallback all cover the whole unknown run. An unknown character without
  /// an unk_id is an error (bad_file).
  void tokenize(std::string_view pretoken, Scratch& scratch,
                std::vector<Piece>& out) const override;
  int32_t id_of(std::string_view token) const override;
  std::string_view token_of(int32_t id) const override;
  size_t size() const override { return pieces_.size(); }

 private:
  struct Memory;

  void find_best_path(std::string_view text, Memory& memory) const;
  void emit(std::string_view text, Memory& memory, std::vector<Piece>& out) const;

  std::vector<std::pair<std::string, double>> pieces_;
  UnigramTrie trie_;
  std::optional<int32_t> unk_id_;
  double unk_score_ = 0;
  bool byte_fallback_;
  std::array<int32_t, 256> fallback_ids_;
  std::string file_;
};

}  // namespace hone::text
