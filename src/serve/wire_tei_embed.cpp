#include <cmath>

#include "base/error.h"
#include "base/json_text.h"
#include "base/thread_pool.h"
#include "kernels/cpu/pooling.h"
#include "serve/errors.h"
#include "serve/wire_tei.h"

namespace hone::serve {
namespace {

constexpr int64_t kMostDimensions = 1 << 20;

void set_prompt(const RequestFields& fields, const ReadLimits& limits, WorkReader& reader) {
  const auto name = fields.text_if("prompt_name");
  if (!name) return;
  if (limits.prompts) {
    const auto found = limits.prompts->find(*name);
    if (found != limits.prompts->end()) return reader.set_prompt(found->second);
  }
  fail_field(fields.path_of("prompt_name"),
             fmt::format("the model has no prompt of the name {}", quote(*name)));
}

void read_options(const RequestFields& fields, EmbedAsk& ask, WorkReader& reader) {
  ask.normalize = fields.boolean("normalize", ask.normalize);
  if (const auto dimensions = fields.integer_if("dimensions", 1, kMostDimensions)) {
    ask.dimensions = dimensions;
  }
  reader.read_truncation(fields);
}

}  // namespace

EmbedAsk read_embed(const RequestFields& fields, const ReadLimits& limits) {
  WorkReader reader(limits.body_bytes, limits.inputs);
  EmbedAsk ask;
  set_prompt(fields, limits, reader);
  read_options(fields, ask, reader);
  if (const auto parameters = fields.find("parameters")) {
    const RequestFields inner(*parameters, "parameters");
    set_prompt(inner, limits, reader);
    read_options(inner, ask, reader);
  }
  reader.add_texts_or_ids(fields.at("inputs"), "inputs");
  ask.work = reader.take("inputs");
  return ask;
}

std::vector<float> embedding_of(const EmbedAsk& ask, const infer::Answer& answer) {
  std::vector<float> values = answer.values;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      throw RequestError(Failure::backend, "the model's answer is not a finite number");
    }
  }
  if (ask.dimensions) {
    if (*ask.dimensions > static_cast<int64_t>(values.size())) {
      fail_field("dimensions", fmt::format("the model has {}", values.size()));
    }
    values.resize(static_cast<size_t>(*ask.dimensions));
  }
  if (ask.normalize) {
    // One thread: no workers are made. The kernel is the one that `hone embed` uses.
    thread_local ThreadPool alone(1);
    kernels::l2_normalize(values.data(), 1, static_cast<int64_t>(values.size()), values.data(),
                          alone);
  }
  return values;
}

std::string write_embeddings(const EmbedAsk& ask, std::span<const infer::Answer> answers) {
  std::string out;
  constexpr size_t kDigits = 14;
  if (!answers.empty()) out.reserve(answers.size() * (answers[0].values.size() * kDigits + 3) + 2);
  for (const infer::Answer& answer : answers) {
    out += out.empty() ? '[' : ',';
    append_json_list(out, embedding_of(ask, answer));
  }
  return out + ']';
}

std::string write_token_embeddings(int64_t width, std::span<const infer::Answer> answers) {
  std::string out;
  for (const infer::Answer& answer : answers) {
    out += out.empty() ? "[[" : ",[";
    for (size_t at = 0; at < answer.values.size(); at += static_cast<size_t>(width)) {
      const auto row = std::span(answer.values).subspan(at, static_cast<size_t>(width));
      for (const float value : row) {
        if (!std::isfinite(value)) {
          throw RequestError(Failure::backend, "the model's answer is not a finite number");
        }
      }
      if (at > 0) out += ',';
      append_json_list(out, row);
    }
    out += ']';
  }
  return out + ']';
}

EmbedAsk read_similarity(const RequestFields& fields, const ReadLimits& limits) {
  WorkReader reader(limits.body_bytes, limits.inputs);
  EmbedAsk ask;
  if (const auto given = fields.find("parameters")) {
    const RequestFields parameters(*given, "parameters");
    set_prompt(parameters, limits, reader);
    reader.read_truncation(parameters);
  }
  const RequestFields inputs(fields.at("inputs"), "inputs");
  reader.add(inputs.text("source_sentence"), "inputs.source_sentence");
  bool some = false;
  read_list(inputs.at("sentences"), "inputs.sentences",
            [&](const JsonValue& element, const std::string& place) {
              some = true;
              reader.add(read_text(element, place), place);
            });
  if (!some) throw RequestError(Failure::empty, "`inputs.sentences` cannot be empty");
  ask.work = reader.take("inputs");
  return ask;
}

std::string write_similarities(const EmbedAsk& ask, std::span<const infer::Answer> answers) {
  const std::vector<float> source = embedding_of(ask, answers[0]);
  std::vector<float> similarities;
  for (const infer::Answer& answer : answers.subspan(1)) {
    const std::vector<float> other = embedding_of(ask, answer);
    double sum = 0;
    for (size_t i = 0; i < source.size(); ++i) sum += double{source[i]} * other[i];
    similarities.push_back(static_cast<float>(sum));
  }
  std::string out;
  append_json_list(out, similarities);
  return out;
}

}  // namespace hone::serve
