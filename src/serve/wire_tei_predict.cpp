#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/json_text.h"
#include "infer/classify.h"
#include "kernels/cpu/softmax.h"
#include "serve/errors.h"
#include "serve/wire_tei.h"

namespace hone::serve {
namespace {

constexpr std::string_view kPredictInputs =
    "a string, a pair of strings, or a list of lists of one or two strings";

/// ["a"] or ["a", "b"].
void add_sequence(const JsonValue& value, const std::string& path, WorkReader& reader) {
  std::vector<std::string_view> texts;
  if (!value.is_array()) fail_field(path, "a list of one or two strings", value);
  read_list(value, path, [&](const JsonValue& element, const std::string& place) {
    texts.push_back(read_text(element, place));
  });
  if (texts.size() == 1) {
    reader.add(texts[0], path);
  } else if (texts.size() == 2) {
    reader.add_pair(texts[0], texts[1], path);
  } else {
    fail_field(path, fmt::format("expected one or two strings, got {}", texts.size()));
  }
}

/// Adds what `/predict` takes; says whether it was a batch.
bool add_predict_inputs(const JsonValue& value, WorkReader& reader) {
  simdjson::dom::array list;
  if (value.is_string()) {
    reader.set_single(true);
    reader.add(read_text(value, "inputs"), "inputs");
    return false;
  }
  if (value.get_array().get(list) != simdjson::SUCCESS) {
    fail_field("inputs", kPredictInputs, value);
  }
  if (list.begin() == list.end()) return true;
  if ((*list.begin()).is_string()) {
    reader.set_single(true);
    if (list.size() > 2) {
      fail_field("inputs",
                 "a list of strings is one pair; for several texts use /predict/batch, "
                 "or a list of lists");
    }
    add_sequence(value, "inputs", reader);
    return false;
  }
  read_list(value, "inputs", [&](const JsonValue& element, const std::string& place) {
    add_sequence(element, place, reader);
  });
  return true;
}

/// A list is always texts, or pairs of them.
void add_batch_inputs(const JsonValue& value, WorkReader& reader) {
  if (!value.is_array()) return reader.add_texts(value, "inputs");
  read_list(value, "inputs", [&](const JsonValue& element, const std::string& place) {
    if (element.is_array()) {
      add_sequence(element, place, reader);
    } else {
      reader.add(read_text(element, place), place);
    }
  });
}

ScoreFunction read_function(const RequestFields& fields) {
  const auto name = fields.text_if("function_to_apply");
  if (!name) return ScoreFunction::of_model;
  if (*name == "none") return ScoreFunction::none;
  if (*name == "softmax") return ScoreFunction::softmax;
  if (*name == "sigmoid") return ScoreFunction::sigmoid;
  fail_field(fields.path_of("function_to_apply"), "expected sigmoid, softmax or none");
}

void append_labels(const models::ModelConfig& config, const PredictAsk& ask,
                   const infer::Answer& answer, std::string& out) {
  const std::vector<float> scores = scores_of(config, ask.scores, answer);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  if (ask.top_k) order.resize(std::min(order.size(), static_cast<size_t>(*ask.top_k)));
  out += '[';
  for (size_t i = 0; i < order.size(); ++i) {
    out += i == 0 ? "{\"score\":" : ",{\"score\":";
    append_json(out, scores[order[i]]);
    out += ",\"label\":";
    append_json(out, config.labels[order[i]]);
    out += '}';
  }
  out += ']';
}

}  // namespace

PredictAsk read_predict(const RequestFields& fields, const ReadLimits& limits) {
  WorkReader reader(limits.body_bytes, limits.inputs);
  PredictAsk ask;
  ask.nested = add_predict_inputs(fields.at("inputs"), reader);
  reader.read_truncation(fields);
  if (fields.boolean("raw_scores", false)) ask.scores = ScoreFunction::none;
  ask.work = reader.take("inputs");
  return ask;
}

PredictAsk read_predict_batch(const RequestFields& fields, const ReadLimits& limits) {
  WorkReader reader(limits.body_bytes, limits.inputs);
  PredictAsk ask;
  ask.nested = true;
  add_batch_inputs(fields.at("inputs"), reader);
  reader.set_single(false);
  reader.read_truncation(fields);
  if (fields.boolean("raw_scores", false)) ask.scores = ScoreFunction::none;
  ask.work = reader.take("inputs");
  return ask;
}

PredictAsk read_pipeline(const RequestFields& fields, const ReadLimits& limits) {
  const auto given = fields.find("parameters");
  if (!given) return read_predict(fields, limits);
  const RequestFields parameters(*given, "parameters");
  WorkReader reader(limits.body_bytes, limits.inputs);
  PredictAsk ask;
  ask.nested = true;
  add_batch_inputs(fields.at("inputs"), reader);
  reader.read_truncation(fields);
  reader.read_truncation(parameters);
  constexpr int64_t kMost = 1 << 30;
  ask.top_k = parameters.integer_if("top_k", 1, kMost);
  ask.scores = read_function(parameters);
  ask.work = reader.take("inputs");
  return ask;
}

std::vector<float> scores_of(const models::ModelConfig& config, ScoreFunction function,
                             const infer::Answer& answer) {
  std::vector<float> scores = answer.values;
  const auto count = static_cast<int64_t>(scores.size());
  for (const float score : scores) {
    if (!std::isfinite(score)) {
      throw RequestError(Failure::backend, "the model's answer is not a finite number");
    }
  }
  if (function == ScoreFunction::of_model) return infer::classify(config, scores).scores;
  if (function == ScoreFunction::softmax) {
    kernels::softmax_rows(scores.data(), 1, count, scores.data());
  } else if (function == ScoreFunction::sigmoid) {
    kernels::sigmoid(scores.data(), count, scores.data());
  }
  return scores;
}

std::string write_predictions(const models::ModelConfig& config, const PredictAsk& ask,
                              std::span<const infer::Answer> answers) {
  std::string out;
  if (ask.nested) out += '[';
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) out += ',';
    append_labels(config, ask, answers[i], out);
  }
  if (ask.nested) out += ']';
  return out;
}

RerankAsk read_rerank(const RequestFields& fields, const ReadLimits& limits) {
  WorkReader reader(limits.body_bytes, limits.inputs);
  RerankAsk ask;
  const std::string_view query = fields.text("query");
  if (query.empty()) throw RequestError(Failure::empty, "`query` cannot be empty");
  read_list(fields.at("texts"), "texts", [&](const JsonValue& element, const std::string& place) {
    reader.add_pair(query, read_text(element, place), place);
  });
  reader.read_truncation(fields);
  ask.raw_scores = fields.boolean("raw_scores", false);
  ask.return_text = fields.boolean("return_text", false);
  ask.work = reader.take("texts");
  return ask;
}

std::string write_ranks(const RerankAsk& ask, std::span<const infer::Input> inputs,
                        std::span<const infer::Answer> answers) {
  std::vector<float> scores;
  for (const infer::Answer& answer : answers) {
    float score = answer.values.at(0);
    if (!std::isfinite(score)) {
      throw RequestError(Failure::backend, "the model's answer is not a finite number");
    }
    if (!ask.raw_scores) kernels::sigmoid(&score, 1, &score);
    scores.push_back(score);
  }
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::string out = "[";
  for (const size_t i : order) {
    out += out.size() == 1 ? "{\"index\":" : ",{\"index\":";
    append_json(out, i);
    if (ask.return_text) {
      out += ",\"text\":";
      append_json(out, inputs[i].pair.value_or(""));
    }
    out += ",\"score\":";
    append_json(out, scores[i]);
    out += '}';
  }
  return out + ']';
}

}  // namespace hone::serve
