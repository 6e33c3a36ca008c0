#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::text {

/// Holds what hone reads of a SentencePiece model file (spiece.model, sentencepiece.bpe.model). The
/// fields are read by hand, not with the SentencePiece library, because tokens must come out as
/// Hugging Face `tokenizers` makes them, with its own algorithms: of the library only the
/// protobuf's fields would be used.
struct SentencePieceModel {
  enum class PieceType {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6
  };
  enum class ModelType { unigram = 1, bpe = 2, word = 3, character = 4 };

  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::normal;
  };

  std::vector<Piece> pieces;

  // trainer_spec
  ModelType model_type = ModelType::unigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  int32_t unk_id = 0;
  int32_t bos_id = 1;
  int32_t eos_id = 2;
  int32_t pad_id = -1;

  // normalizer_spec
  std::string normalizer_name;
  std::string precompiled_charsmap;  ///< empty: none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

/// Reads hostile bytes; `file` names them in errors. Pieces are not empty and valid UTF-8, scores
/// are finite, and there is at least one piece.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& file);
SentencePieceModel read_sentencepiece_model(const std::string& path);

}  // namespace hone::text
