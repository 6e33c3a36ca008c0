#include "base/error.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "serve/errors.h"
#include "serve/wire_tei.h"

namespace hone::serve {
namespace {

/// Gives pieces of a text by code points that mostly rise.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : text_(text) {}
  std::string_view slice(uint32_t begin, uint32_t end) {
    const size_t first = byte_of(begin);
    return text_.substr(first, byte_of(end) - first);
  }

 private:
  size_t byte_of(uint32_t target) {
    if (target < code_) at_ = code_ = 0;
    for (; code_ < target && at_ < text_.size(); ++code_) at_ += decode_utf8(text_, at_).size;
    return at_;
  }
  std::string_view text_;
  size_t at_ = 0;
  size_t code_ = 0;
};

void append_tokens(const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                   std::string_view text, std::string& out) {
  CodePoints pieces(text);
  out += '[';
  for (size_t i = 0; i < encoding.size(); ++i) {
    const bool special = encoding.special[i] != 0;
    const text::Span span = encoding.offsets[i];
    out += i == 0 ? "{\"id\":" : ",{\"id\":";
    append_json(out, encoding.ids[i]);
    out += ",\"text\":";
    if (special) {
      append_json(out, tokenizer.token(encoding, i));
      out += ",\"special\":true,\"start\":null,\"stop\":null}";
      continue;
    }
    append_json(out, pieces.slice(span.begin, span.end));
    out += ",\"special\":false,\"start\":";
    append_json(out, span.begin);
    out += ",\"stop\":";
    append_json(out, span.end);
    out += '}';
  }
  out += ']';
}

}  // namespace

TokenizeAsk read_tokenize(const RequestFields& fields, const ReadLimits& limits) {
  WorkReader reader(limits.body_bytes, limits.inputs);
  reader.allow_empty();
  reader.add_texts(fields.at("inputs"), "inputs");
  TokenizeAsk ask;
  ask.add_special_tokens = fields.boolean("add_special_tokens", true);
  ask.work = reader.take("inputs");
  return ask;
}

std::string write_tokens(const text::Tokenizer& tokenizer, const TokenizeAsk& ask) {
  std::string out;
  const text::EncodeOptions options{.add_special_tokens = ask.add_special_tokens, .truncation = {}};
  for (const infer::Input& input : ask.work.inputs) {
    out += out.empty() ? '[' : ',';
    append_tokens(tokenizer, tokenizer.encode(input, options), input.text, out);
  }
  return out + ']';
}

DecodeAsk read_decode(const RequestFields& fields, const ReadLimits& limits) {
  DecodeAsk ask;
  ask.skip_special_tokens = fields.boolean("skip_special_tokens", true);
  const JsonValue given = fields.at("ids");
  simdjson::dom::array list;
  if (given.get_array().get(list) != simdjson::SUCCESS) fail_field("ids", "a list", given);
  if (list.begin() == list.end()) throw RequestError(Failure::empty, "`ids` cannot be empty");
  if (!(*list.begin()).is_array()) {
    ask.ids.push_back(read_ids(given, "ids"));
    return ask;
  }
  read_list(given, "ids", [&](const JsonValue& element, const std::string& place) {
    if (ask.ids.size() >= limits.inputs) {
      throw RequestError(
          Failure::batch_size,
          fmt::format("batch size is above the maximum allowed batch size of {}", limits.inputs));
    }
    ask.ids.push_back(read_ids(element, place));
  });
  return ask;
}

std::string write_decoded(const text::Tokenizer& tokenizer, const DecodeAsk& ask) {
  std::string out;
  for (const std::vector<int32_t>& ids : ask.ids) {
    out += out.empty() ? '[' : ',';
    append_json(out, tokenizer.decode(ids, ask.skip_special_tokens));
  }
  return out + ']';
}

}  // namespace hone::serve
