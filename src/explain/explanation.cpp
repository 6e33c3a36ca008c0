#include "explain/explanation.h"

#include <string_view>

#include "base/json_text.h"

namespace hone::explain {
namespace {

/// Opens a field that is not an object's first.
void field(std::string_view name, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
}

/// Writes a number with the digits that a model's fp32 has, as hone predict does.
void append_value(double value, std::string& out) {
  hone::append_json(out, static_cast<float>(value));
}
void append_value(int64_t value, std::string& out) { hone::append_json(out, value); }

template <typename Value>
void append_object(const std::vector<std::pair<std::string, Value>>& fields, std::string& out) {
  out += '{';
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    hone::append_json(out, fields[i].first);
    out += ':';
    append_value(fields[i].second, out);
  }
  out += '}';
}

void append_phrase(const Phrase& phrase, std::string& out) {
  out += "{\"text\":";
  hone::append_json(out, phrase.text);
  field("start", out);
  hone::append_json(out, phrase.start);
  field("end", out);
  hone::append_json(out, phrase.end);
  field("share", out);
  append_value(phrase.share, out);
  if (!phrase.label.empty()) {
    field("label", out);
    hone::append_json(out, phrase.label);
  }
  if (phrase.ablated_score) {
    field("ablated_score", out);
    append_value(*phrase.ablated_score, out);
  }
  if (phrase.flips) {
    field("flips", out);
    out += *phrase.flips ? "true" : "false";
  }
  out += '}';
}

void append_concept(const Concept& idea, std::string& out) {
  out += "{\"text\":";
  hone::append_json(out, idea.text);
  field("share", out);
  append_value(idea.share, out);
  field("similarity", out);
  append_value(idea.similarity, out);
  field("labels", out);
  append_object(idea.labels, out);
  field("row", out);
  hone::append_json(out, idea.row);
  out += '}';
}

template <typename List, typename Append>
void append_list(std::string_view name, const List& list, const Append& append, std::string& out) {
  field(name, out);
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    append(list[i], out);
  }
  out += ']';
}

void append_answer(const Explanation& answer, std::string& out) {
  out += "\"label\":";
  hone::append_json(out, answer.label);
  field("score", out);
  append_value(answer.score, out);
  field("scores", out);
  append_object(answer.scores, out);
  if (!answer.chosen.empty()) {
    field("labels", out);
    append_json_list(out, answer.chosen);
  }
  field("tokens", out);
  hone::append_json(out, answer.tokens);
  field("truncated", out);
  out += answer.truncated ? "true" : "false";
  if (answer.truncated) {
    field("original_tokens", out);
    hone::append_json(out, answer.original_tokens);
  }
}

}  // namespace

void append_fields(const Explanation& explanation, std::string& out) {
  append_answer(explanation, out);
  if (!explanation.phrases.empty()) {
    append_list("phrases", explanation.phrases, append_phrase, out);
  }
  if (!explanation.concepts.empty()) {
    append_list("concepts", explanation.concepts, append_concept, out);
  }
  if (explanation.shares) {
    field("shares", out);
    out += "{\"label\":";
    append_value(explanation.shares->label, out);
    field("local", out);
    append_value(explanation.shares->local, out);
    field("global", out);
    append_value(explanation.shares->global, out);
    out += '}';
  }
  if (!explanation.tree.empty()) {
    field("tree", out);
    hone::append_json(out, explanation.tree);
  }
  if (!explanation.cut.empty()) {
    field("cut", out);
    append_json_list(out, explanation.cut);
  }
}

void append_json(const Explanation& explanation, std::string& out) {
  out += '{';
  append_fields(explanation, out);
  out += '}';
}

}  // namespace hone::explain
