#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/function_ref.h"
#include "text/encoding.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/wordpiece.h"

namespace hone::text {

/// BertNormalizer, BertPreTokenizer and WordPiece in one pass over the bytes of ASCII text, where
/// every character stands for itself. A chunk (what lies between ASCII spaces) with anything else
/// in it goes the general way; no step of BERT's looks across such a space.
class BertScanner {
 public:
  /// The normalizer, which may be null, and the model must outlive this.
  BertScanner(const BertNormalizer* normalizer, const WordPiece& model);

  /// A General is called for the chunks that this class cannot do, as ranges of `text`.
  using General = FunctionRef<void(size_t begin, size_t end)>;

  /// Appends the tokens of `text`, which lies at byte `origin` of the input. `pieces` is working
  /// memory.
  void scan(std::string_view text, uint32_t origin, Model::Scratch& scratch,
            std::vector<Piece>& pieces, General general, TokenList& out) const;

 private:
  enum class Kind : uint8_t { letter, punctuation, space, other };

  bool scan_chunk(std::string_view text, size_t& at, uint32_t origin, Model::Scratch& scratch,
                  std::vector<Piece>& pieces, TokenList& out) const;

  const WordPiece& model_;
  std::array<Kind, 256> kinds_;
  std::array<char, 256> letters_;  ///< what a byte becomes
};

}  // namespace hone::text
