#include "base/error.h"
#include "base/json_text.h"
#include "base/thread_pool.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "device/cpu_info.h"
#include "infer/line_answers.h"
#include "models/folder_tokenizer.h"
#include "text/tokenizer.h"

namespace hone::cli {
namespace {

struct TokenizeOptions {
  std::string model;
  std::string tokenizer;
  std::string input = "-";
  std::string format;
  std::string output;
  int64_t max_length = 0;
  bool no_truncate = false;
  bool no_special_tokens = false;
};

void declare(Arguments& arguments, TokenizeOptions& options) {
  arguments.text("--model,--model_name_or_path", "DIR", options.model,
                 "model folder, or name in the local cache");
  arguments.text("--tokenizer", "FILE", options.tokenizer, "tokenizer.json, or its folder");
  arguments.text("--input", "FILE", options.input, "texts; - is standard input (default)");
  arguments.text("--format", "NAME", options.format,
                 "lines, jsonl, csv or tsv; default: by extension");
  arguments.text("--output", "FILE", options.output, "default: standard output");
  arguments.integer("--max_seq_length", 1, kMostTokens, options.max_length,
                    "most tokens; default: what the tokenizer says");
  arguments.flag("--no-truncate", options.no_truncate, "cut nothing, whatever the tokenizer says");
  arguments.flag("--no-special-tokens", options.no_special_tokens, "without [CLS], [SEP], ...");
  arguments.example("printf 'a great film\\n' | hone tokenize --model DIR");
}

text::Tokenizer load(const TokenizeOptions& options) {
  if (options.model.empty() == options.tokenizer.empty()) {
    fail(ErrorKind::usage, "tokenize: expected one of --model and --tokenizer");
  }
  if (!options.tokenizer.empty()) return text::Tokenizer::load(options.tokenizer);
  return models::load_tokenizer(options.model);
}

text::EncodeOptions encode_options(const TokenizeOptions& options,
                                   const text::Tokenizer& tokenizer) {
  text::EncodeOptions encode;
  encode.add_special_tokens = !options.no_special_tokens;
  if (options.no_truncate) return encode;
  encode.truncation = tokenizer.truncation();
  if (options.max_length > 0) {
    if (!encode.truncation) encode.truncation.emplace();
    encode.truncation->max_length = static_cast<size_t>(options.max_length);
  }
  return encode;
}

void append_line(const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                 std::string& out) {
  out += "{\"ids\":";
  append_json_list(out, encoding.ids);
  out += ",\"tokens\":[";
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (i > 0) out += ',';
    append_json(out, std::string_view(tokenizer.token(encoding, i)));
  }
  out += "],\"offsets\":[";
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (i > 0) out += ',';
    append_json_list(out, std::array{encoding.offsets[i].begin, encoding.offsets[i].end});
  }
  out += "],\"type_ids\":";
  append_json_list(out, encoding.type_ids);
  if (encoding.truncated() > 0) {
    out += ",\"truncated\":true,\"original_tokens\":";
    append_json(out, encoding.untruncated);
  }
  out += "}\n";
}

}  // namespace

int tokenize(const Words& words) {
  Arguments arguments("tokenize", "Token ids of texts: one JSON object a line, in order.");
  TokenizeOptions options;
  declare(arguments, options);
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  data::RecordOptions reading;
  if (!options.format.empty()) reading.format = data::parse_format(options.format);
  const text::Tokenizer tokenizer = load(options);
  const text::EncodeOptions encode = encode_options(options, tokenizer);
  const auto records = data::open_records(options.input, reading);
  Output output(options.output);
  const int threads = arguments.common().threads;
  ThreadPool pool(threads > 0 ? threads : usable_cores());
  infer::BatchReader reader(*records);
  std::vector<text::TextInput> inputs;
  std::vector<text::Encoding> encodings;
  std::string line;
  for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
    inputs.clear();
    for (const data::Record& record : batch) inputs.push_back({record.text, record.pair});
    tokenizer.encode_batch(inputs, encode, pool, encodings);
    for (const text::Encoding& encoding : encodings) {
      line.clear();
      append_line(tokenizer, encoding, line);
      output.write(line);
    }
    if (!records->waiting()) output.flush();
  }
  output.finish();
  return kDone;
}

}  // namespace hone::cli
