#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_config.h"
#include "serve/work.h"
#include "text/tokenizer.h"

/// What clients of text-embeddings-inference send and get. Readers throw RequestError; writers do
/// where an answer is no number.
namespace hone::serve {

/// The texts that a sentence-transformers folder has under names, to be put before inputs.
using Prompts = std::map<std::string, std::string, std::less<>>;

/// What a reader has to know besides the body.
struct ReadLimits {
  size_t body_bytes = 0;
  size_t inputs = 32;  ///< most that one request may have
  const Prompts* prompts = nullptr;
};

enum class ScoreFunction {
  of_model,  ///< softmax, sigmoid or the value itself, by the model's problem type
  none,      ///< logits
  softmax,
  sigmoid,
};

struct PredictAsk {
  Work work;
  bool nested = false;  ///< whether the answer is a list of lists
  ScoreFunction scores = ScoreFunction::of_model;
  std::optional<int64_t> top_k = {};  ///< absent: all labels
};

/// `/predict`: a string, a pair of strings, or a list of lists of one or two strings.
PredictAsk read_predict(const RequestFields& fields, const ReadLimits& limits);
/// `/predict/batch`: a string or a list; each element of the list is a text, or a list of two.
PredictAsk read_predict_batch(const RequestFields& fields, const ReadLimits& limits);
/// `/` of a classifier: as `/predict`, or with "parameters" as Hugging Face's pipelines take them.
PredictAsk read_pipeline(const RequestFields& fields, const ReadLimits& limits);
std::string write_predictions(const models::ModelConfig& config, const PredictAsk& ask,
                              std::span<const infer::Answer> answers);
/// Scores by label, in the labels' order.
std::vector<float> scores_of(const models::ModelConfig& config, ScoreFunction function,
                             const infer::Answer& answer);

struct RerankAsk {
  Work work;  ///< pairs
  bool raw_scores = false;
  bool return_text = false;
};
RerankAsk read_rerank(const RequestFields& fields, const ReadLimits& limits);
std::string write_ranks(const RerankAsk& ask, std::span<const infer::Input> inputs,
                        std::span<const infer::Answer> answers);

struct EmbedAsk {
  Work work;
  bool normalize = true;
  std::optional<int64_t> dimensions = {};  ///< the first ones; absent: all
};
/// Options may lie beside "inputs", or in "parameters".
EmbedAsk read_embed(const RequestFields& fields, const ReadLimits& limits);
/// An answer's vector as the request wants it.
std::vector<float> embedding_of(const EmbedAsk& ask, const infer::Answer& answer);
std::string write_embeddings(const EmbedAsk& ask, std::span<const infer::Answer> answers);
/// Writes the answer of `/embed_all`: every token's vector of `width` values.
std::string write_token_embeddings(int64_t width, std::span<const infer::Answer> answers);

/// `/similarity`: the source sentence first, then the others.
EmbedAsk read_similarity(const RequestFields& fields, const ReadLimits& limits);
std::string write_similarities(const EmbedAsk& ask, std::span<const infer::Answer> answers);

struct TokenizeAsk {
  Work work;
  bool add_special_tokens = true;
};
TokenizeAsk read_tokenize(const RequestFields& fields, const ReadLimits& limits);
std::string write_tokens(const text::Tokenizer& tokenizer, const TokenizeAsk& ask);

struct DecodeAsk {
  std::vector<std::vector<int32_t>> ids;
  bool skip_special_tokens = true;
};
DecodeAsk read_decode(const RequestFields& fields, const ReadLimits& limits);
std::string write_decoded(const text::Tokenizer& tokenizer, const DecodeAsk& ask);

}  // namespace hone::serve
