#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_config.h"
#include "serve/wire_tei.h"

/// What clients of OpenAI's API, and of vLLM's classification beside it, send and get.
namespace hone::serve {

struct OpenAiEmbedAsk {
  EmbedAsk embed;
  std::string model;  ///< what was asked for
  bool base64 = false;
};
/// `/v1/embeddings`: "input" is a string, token ids, or a list of strings or of lists of ids.
OpenAiEmbedAsk read_openai_embeddings(const RequestFields& fields, const ReadLimits& limits);
/// `model` is the name that is served.
std::string write_openai_embeddings(const OpenAiEmbedAsk& ask, std::string_view model,
                                    std::span<const infer::Answer> answers);

struct ClassifyAsk {
  Work work;
  std::string model;
};
/// `/v1/classify`.
ClassifyAsk read_classify(const RequestFields& fields, const ReadLimits& limits);
/// `id` is the request's; `created` in seconds since 1970.
std::string write_classify(const models::ModelConfig& config, std::string_view model,
                           std::string_view id, int64_t created,
                           std::span<const infer::Answer> answers);

/// `/v1/models`.
std::string write_models(std::span<const std::string> names, int64_t created);
std::string write_model(std::string_view name, int64_t created);

}  // namespace hone::serve
