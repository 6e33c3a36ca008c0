#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "models/config.h"
#include "ops/pooling.h"

namespace hone::models {

/// How a sentence-transformers folder makes one vector of a text.
struct SentencePooling {
  ops::Pooling pooling = ops::Pooling::mean;
  bool normalize = false;
};

/// What a Hugging Face or sentence-transformers folder says about its model, besides the weights.
struct ModelFolder {
  std::string path;  ///< where config, weights and tokenizer lie
  Json config_json;
  EncoderConfig config;
  std::optional<SentencePooling> sentence;
  std::optional<int64_t> sentence_length;  ///< sentence-transformers' max_seq_length
};

/// A module of a sentence-transformers folder that is not supported is an error that names it.
ModelFolder open_model_folder(const std::string& path);

}  // namespace hone::models
