#include "serve/wire_openai.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/json_text.h"
#include "serve/errors.h"

namespace hone::serve {
namespace {

static_assert(std::endian::native == std::endian::little, "base64 vectors are little-endian");

void append_base64(std::string& out, std::span<const float> values) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  const size_t size = values.size_bytes();
  for (size_t at = 0; at < size; at += 3) {
    const size_t left = std::min<size_t>(3, size - at);
    const unsigned block = (unsigned{bytes[at]} << 16) |
                           (left > 1 ? unsigned{bytes[at + 1]} << 8 : 0) |
                           (left > 2 ? unsigned{bytes[at + 2]} : 0);
    out += kAlphabet[block >> 18];
    out += kAlphabet[block >> 12 & 63];
    out += left > 1 ? kAlphabet[block >> 6 & 63] : '=';
    out += left > 2 ? kAlphabet[block & 63] : '=';
  }
}

int64_t count_tokens(std::span<const infer::Answer> answers) {
  int64_t tokens = 0;
  for (const infer::Answer& answer : answers) tokens += answer.tokens;
  return tokens;
}

/// The tokens of a text that was cut.
void append_truncated(std::string& out, const infer::Answer& answer) {
  if (answer.truncated()) out += fmt::format(",\"truncated_from\":{}", answer.full_tokens);
}

}  // namespace

OpenAiEmbedAsk read_openai_embeddings(const RequestFields& fields, const ReadLimits& limits) {
  OpenAiEmbedAsk ask;
  ask.model = fields.text_if("model").value_or("");
  const std::string_view format = fields.text_if("encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    fail_field("encoding_format", "expected float or base64");
  }
  ask.base64 = format == "base64";
  constexpr int64_t kMostDimensions = 1 << 20;
  ask.embed.dimensions = fields.integer_if("dimensions", 1, kMostDimensions);
  WorkReader reader(limits.body_bytes, limits.inputs);
  reader.add_texts_or_ids(fields.at("input"), "input");
  reader.read_truncation(fields);
  ask.embed.work = reader.take("input");
  return ask;
}

std::string write_openai_embeddings(const OpenAiEmbedAsk& ask, std::string_view model,
                                    std::span<const infer::Answer> answers) {
  std::string out = "{\"object\":\"list\",\"data\":[";
  for (size_t i = 0; i < answers.size(); ++i) {
    out += i > 0 ? "," : "";
    out += fmt::format("{{\"object\":\"embedding\",\"index\":{},\"embedding\":", i);
    const std::vector<float> values = embedding_of(ask.embed, answers[i]);
    if (ask.base64) {
      out += '"';
      append_base64(out, values);
      out += '"';
    } else {
      append_json_list(out, values);
    }
    append_truncated(out, answers[i]);
    out += '}';
  }
  out += "],\"model\":";
  append_json(out, model);
  const int64_t tokens = count_tokens(answers);
  return out +
         fmt::format(",\"usage\":{{\"prompt_tokens\":{},\"total_tokens\":{}}}}}", tokens, tokens);
}

ClassifyAsk read_classify(const RequestFields& fields, const ReadLimits& limits) {
  ClassifyAsk ask;
  ask.model = fields.text_if("model").value_or("");
  WorkReader reader(limits.body_bytes, limits.inputs);
  reader.add_texts_or_ids(fields.at("input"), "input");
  reader.read_truncation(fields);
  ask.work = reader.take("input");
  return ask;
}

std::string write_classify(const models::ModelConfig& config, std::string_view model,
                           std::string_view id, int64_t created,
                           std::span<const infer::Answer> answers) {
  std::string out = "{\"id\":";
  append_json(out, fmt::format("classify-{}", id));
  out += fmt::format(",\"object\":\"list\",\"created\":{},\"model\":", created);
  append_json(out, model);
  out += ",\"data\":[";
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::vector<float> scores = scores_of(config, ScoreFunction::of_model, answers[i]);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    out += fmt::format("{}{{\"index\":{},\"label\":", i > 0 ? "," : "", i);
    append_json(out, config.labels[static_cast<size_t>(best)]);
    out += ",\"probs\":";
    append_json_list(out, scores);
    out += fmt::format(",\"num_classes\":{}", scores.size());
    append_truncated(out, answers[i]);
    out += '}';
  }
  const int64_t tokens = count_tokens(answers);
  return out + fmt::format(
                   "],\"usage\":{{\"prompt_tokens\":{},\"total_tokens\":{},"
                   "\"completion_tokens\":0,\"prompt_tokens_details\":null}}}}",
                   tokens, tokens);
}

std::string write_model(std::string_view name, int64_t created) {
  std::string out = "{\"id\":";
  append_json(out, name);
  return out + fmt::format(",\"object\":\"model\",\"created\":{},\"owned_by\":\"hone\"}}", created);
}

std::string write_models(std::span<const std::string> names, int64_t created) {
  std::string out = "{\"object\":\"list\",\"data\":[";
  for (size_t i = 0; i < names.size(); ++i) {
    out += i > 0 ? "," : "";
    out += write_model(names[i], created);
  }
  return out + "]}";
}

}  // namespace hone::serve
