#include "text/components.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/bpe.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

namespace hone::text {
namespace {

int32_t id_end_of(const std::vector<std::pair<std::string, int32_t>>& vocab) {
  int32_t end = 0;
  for (const auto& [token, id] : vocab) end = std::max(end, id + 1);
  return end;
}

std::unique_ptr<Model> make_wordpiece(const JsonFields& fields, const TokenizerJson& json) {
  WordPieceOptions options;
  options.unk_token = fields.string("unk_token", options.unk_token);
  options.continuing_subword_prefix =
      fields.string("continuing_subword_prefix", options.continuing_subword_prefix);
  options.max_input_chars_per_word =
      fields.integer("max_input_chars_per_word", 0, std::numeric_limits<int32_t>::max(),
                     options.max_input_chars_per_word);
  return std::make_unique<WordPiece>(json.vocab, options, fields.file());
}

std::unique_ptr<Model> make_bpe(const JsonFields& fields, const TokenizerJson& json) {
  if (fields.number("dropout", 0.0) != 0.0) {
    fields.fail_field("dropout", "random tokens are not supported");
  }
  BpeOptions options;
  options.unk_token = fields.string("unk_token", "");
  options.continuing_subword_prefix = fields.string("continuing_subword_prefix", "");
  options.end_of_word_suffix = fields.string("end_of_word_suffix", "");
  options.fuse_unk = fields.boolean("fuse_unk", false);
  options.byte_fallback = fields.boolean("byte_fallback", false);
  options.ignore_merges = fields.boolean("ignore_merges", false);
  return std::make_unique<Bpe>(json.vocab, json.merges, options, fields.file());
}

std::unique_ptr<Model> make_unigram(const JsonFields& fields, TokenizerJson& json,
                                    int32_t& unk_id) {
  std::optional<int32_t> unk;
  const int64_t size = static_cast<int64_t>(json.scored.size());
  if (fields.has("unk_id")) {
    unk = static_cast<int32_t>(fields.integer("unk_id", 0, size - 1));
    unk_id = *unk;
  }
  return std::make_unique<Unigram>(std::move(json.scored), unk,
                                   fields.boolean("byte_fallback", false), fields.file());
}

/// Old files do not name the model; its fields do.
std::string model_type(const JsonFields& fields, const TokenizerJson& json) {
  if (fields.has("type")) return fields.string("type");
  if (fields.has("merges")) return "BPE";
  if (!json.scored.empty()) return "Unigram";
  return fields.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

void fail_unsupported(const std::string& file, const std::string& path, std::string_view value) {
  fail(ErrorKind::unsupported, "{}: {}: {} is not supported", file, path, quote(value));
}

std::vector<AddedToken> build_added_tokens(const Json& json, const std::string& file) {
  if (!json.is_array()) fail(ErrorKind::bad_file, "{}: added_tokens: expected a list", file);
  std::vector<AddedToken> out;
  for (size_t i = 0; i < json.size(); ++i) {
    const JsonFields fields(json[i], file, fmt::format("added_tokens[{}]", i));
    AddedToken token;
    token.content = fields.string("content");
    token.single_word = fields.boolean("single_word");
    token.lstrip = fields.boolean("lstrip");
    token.rstrip = fields.boolean("rstrip");
    token.normalized = fields.boolean("normalized");
    token.special = fields.boolean("special");
    out.push_back(std::move(token));
  }
  return out;
}

std::optional<Truncation> build_truncation(const Json& json, const std::string& file) {
  const JsonFields fields(json, file, "truncation");
  Truncation out;
  out.max_length =
      static_cast<size_t>(fields.integer("max_length", 0, std::numeric_limits<int32_t>::max()));
  const std::string strategy = fields.string("strategy", "LongestFirst");
  if (strategy == "OnlyFirst") {
    out.strategy = Truncation::Strategy::only_first;
  } else if (strategy == "OnlySecond") {
    out.strategy = Truncation::Strategy::only_second;
  } else if (strategy != "LongestFirst") {
    fields.fail_field("strategy", "expected LongestFirst, OnlyFirst or OnlySecond");
  }
  const std::string direction = fields.string("direction", "Right");
  if (direction == "Left") {
    out.direction = Truncation::Direction::left;
  } else if (direction != "Right") {
    fields.fail_field("direction", "expected Left or Right");
  }
  return out;
}

void build_model(TokenizerJson& json, TokenizerParts& parts) {
  const JsonFields fields = JsonFields(json.rest, parts.file).object("model");
  const std::string type = model_type(fields, json);
  const bool scored = type == "Unigram";
  if (!fields.at("vocab").is_object()) fields.fail_field("vocab", "expected a vocabulary");
  if (scored ? !json.vocab.empty() : !json.scored.empty()) {
    fail(ErrorKind::bad_file, "{}: model.vocab: not the vocabulary of a {} model", parts.file,
         type);
  }
  parts.model_id_end = scored ? static_cast<int32_t>(json.scored.size()) : id_end_of(json.vocab);
  if (type == "WordPiece") {
    parts.model = make_wordpiece(fields, json);
  } else if (type == "BPE") {
    parts.model = make_bpe(fields, json);
  } else if (scored) {
    parts.model = make_unigram(fields, json, parts.spelled_as_text);
  } else {
    fail_unsupported(parts.file, "model.type", type);
  }
}

TokenizerParts build_tokenizer(TokenizerJson json, const std::string& file) {
  const JsonFields fields(json.rest, file);
  TokenizerParts parts;
  parts.file = file;
  if (fields.string("version", "1.0") != "1.0") {
    fail_unsupported(file, "version", fields.string("version"));
  }
  if (fields.has("normalizer")) {
    parts.normalizer = build_normalizer(fields.at("normalizer"), file, "normalizer");
  }
  if (fields.has("pre_tokenizer")) {
    build_pre_tokenizers(fields.at("pre_tokenizer"), file, "pre_tokenizer", parts.pre_tokenizers);
  }
  if (fields.has("post_processor")) {
    parts.post = build_post_processor(fields.at("post_processor"), file);
  }
  if (fields.has("added_tokens")) {
    parts.added = build_added_tokens(fields.at("added_tokens"), file);
  }
  if (fields.has("truncation")) {
    parts.truncation = build_truncation(fields.at("truncation"), file);
  }
  if (fields.has("decoder")) parts.decoder = build_decoder(fields.at("decoder"), file);
  build_model(json, parts);
  return parts;
}

std::optional<int64_t> read_model_max_length(const Json& tokenizer_config) {
  // transformers writes int(1e30) for "no limit"; anything past this is no length of a text.
  constexpr double kLongest = 1e9;
  const auto it = tokenizer_config.find("model_max_length");
  if (it == tokenizer_config.end() || !it->is_number()) return std::nullopt;
  const double value = it->get<double>();
  if (!(value >= 1 && value <= kLongest)) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace hone::text
