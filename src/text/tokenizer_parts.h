#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/encoding.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace hone::text {

/// Holds what a tokenizer is made of, whichever files it was read from.
struct TokenizerParts {
  std::string file;                        ///< names the source in errors
  std::unique_ptr<Normalizer> normalizer;  ///< null: none
  std::vector<std::unique_ptr<PreTokenizer>> pre_tokenizers;
  std::unique_ptr<Model> model;
  int32_t model_id_end = 0;  ///< one more than the model's highest id
  std::vector<AddedToken> added;
  PostProcessor post;
  std::unique_ptr<Decoder> decoder;  ///< null: tokens are joined by spaces
  std::optional<Truncation> truncation;
  std::optional<int64_t> model_max_length;
  /// The id whose tokens are spelled as in the text (Unigram's unknown), or -1.
  int32_t spelled_as_text = -1;
};

}  // namespace hone::text
