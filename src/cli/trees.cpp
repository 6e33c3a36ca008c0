#include "cli/trees.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "data/tree_file.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "device/memory.h"
#include "infer/line_answers.h"
#include "metrics/tree_scorer.h"
#include "models/tree_parser.h"

namespace hone::cli {
namespace {

int threads_of(const CommonOptions& common) {
  return common.threads > 0 ? common.threads : usable_cores();
}

/// Says whether the parser runs on a GPU, which has no kernels for int8.
bool wants_gpu(const CommonOptions& common) {
  if (common.device == "auto" && common.wanted_dtype() == DType::i8) return false;
  return select_device(common.device);
}

/// Gives code points [begin, end) of a text, of which `bytes` says where each begins.
std::string_view cut(std::string_view text, const std::vector<size_t>& bytes, uint32_t begin,
                     uint32_t end) {
  return text.substr(bytes[begin], bytes[end] - bytes[begin]);
}

void append_tree(std::string_view raw, const models::ParsedText& parsed, std::string& out) {
  const std::string text = replace_invalid_utf8(raw);
  std::vector<size_t> bytes;
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) bytes.push_back(at);
  bytes.push_back(text.size());
  trees::Tree tree;
  tree.constituents = parsed.constituents;
  for (const trees::WordPlace& word : parsed.words) {
    tree.words.emplace_back(cut(text, bytes, word.begin, word.end));
  }
  out += "{\"tree\":";
  append_json(out, std::string_view(tree.words.empty() ? "" : trees::brackets_of(tree)));
  out += ",\"constituents\":[";
  for (size_t i = 0; i < parsed.constituents.size(); ++i) {
    const trees::Constituent& each = parsed.constituents[i];
    const uint32_t begin = parsed.words[static_cast<size_t>(each.begin)].begin;
    const uint32_t end = parsed.words[static_cast<size_t>(each.end) - 1].end;
    out += fmt::format("{}{{\"start\":{},\"end\":{},\"text\":", i > 0 ? "," : "", begin, end);
    append_json(out, cut(text, bytes, begin, end));
    out += '}';
  }
  out += fmt::format("],\"tokens\":{},\"parts\":{}}}\n", parsed.tokens, parsed.parts);
}

std::string json_of(const std::string& file, const char* split, const metrics::TreeScorer& scorer,
                    int64_t samples, int64_t tokens, int64_t truncated, double seconds,
                    const char* device, DType dtype) {
  std::string out = "{\"task\":";
  append_json(out, std::string_view(file));
  out += fmt::format(",\"split\":\"{}\",\"samples\":{},\"metrics\":{{", split, samples);
  const char* comma = "";
  for (const auto& [name, value] : scorer.results()) {
    out += fmt::format("{}\"{}\":", comma, name);
    append_json(out, value);
    comma = ",";
  }
  out += "},\"loss\":";
  append_json(out, scorer.loss());
  out += ",\"seconds\":";
  append_json(out, seconds);
  out += ",\"samples_per_second\":";
  append_json(out, static_cast<double>(samples) / seconds);
  return out + fmt::format(
                   ",\"tokens\":{},\"truncated\":{},\"peak_rss_bytes\":{},\"device\":\"{}\","
                   "\"dtype\":\"{}\"}}\n",
                   tokens, truncated, peak_resident_bytes(), device, dtype_name(dtype));
}

std::string text_of(const std::string& file, const metrics::TreeScorer& scorer, int64_t samples,
                    int64_t truncated, double seconds) {
  std::string out = fmt::format("{}: {} trees, {} truncated\n", file, samples, truncated);
  for (const auto& [name, value] : scorer.results()) {
    out += fmt::format("  {:<22}{:.4f}\n", name, value);
  }
  return out +
         fmt::format("  {:<22}{:.4f}\n  {:<22}{:.2f} s\n", "loss", scorer.loss(), "time", seconds);
}

}  // namespace

int predict_trees(const CommonOptions& common, const AnsweringOptions& options) {
  if (!options.memory_budget.empty()) {
    fail(ErrorKind::unsupported, "--memory-budget: a parser's weights are not streamed");
  }
  data::RecordOptions reading;
  if (!options.format.empty()) reading.format = data::parse_format(options.format);
  const auto records = data::open_records(options.input, reading);
  Output output(options.output);
  ThreadPool pool(threads_of(common));
  models::TreeParser parser(options.model, pool, options.max_length, common.wanted_dtype(),
                            wants_gpu(common));
  Progress progress("hone", "texts", common.quiet || options.input == "-");
  infer::BatchReader reader(*records);
  int64_t count = 0, split = 0;
  std::vector<std::string_view> texts;
  std::string out;
  for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
    texts.clear();
    for (const data::Record& record : batch) {
      if (record.pair) {
        fail(ErrorKind::bad_file, "{}: a pair of texts; a parser reads one",
             records->where(record));
      }
      texts.push_back(record.text);
    }
    const std::vector<models::ParsedText> parsed = parser.parse(texts);
    out.clear();
    for (size_t i = 0; i < parsed.size(); ++i) {
      append_tree(texts[i], parsed[i], out);
      split += parsed[i].parts > 1;
    }
    output.write(out);
    if (reader.idle()) output.flush();
    progress.update(count += std::ssize(texts));
  }
  output.finish();
  if (split > 0) {
    warn(common.quiet,
         fmt::format("{} of {} texts were parsed in parts, cut at the ends of sentences", split,
                     count));
  }
  return kDone;
}

int eval_trees(const CommonOptions& common, const std::string& model,
               const data::LabelledData& data, int64_t max_length, int64_t max_samples) {
  if (data.validation_file.empty() && data.test_file.empty()) {
    fail(ErrorKind::usage, "data.test_file: missing; a parser is scored by a file of trees");
  }
  ThreadPool pool(threads_of(common));
  const bool gpu = wants_gpu(common);
  models::TreeParser parser(model, pool, max_length, common.wanted_dtype(), gpu);
  for (const auto& [file, split] :
       {std::pair(data.validation_file, "validation"), std::pair(data.test_file, "test")}) {
    if (file.empty()) continue;
    const Stopwatch watch;
    const auto records = data::open_tree_records(file);
    metrics::TreeScorer scorer;
    int64_t count = 0, tokens = 0, truncated = 0;
    infer::BatchReader reader(*records);
    std::vector<data::RawSample> samples;
    for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
      samples.clear();
      for (const data::Record& record : batch) {
        if (max_samples < 0 || count < max_samples) {
          samples.push_back({record.text, record.pair});
          ++count;
        }
      }
      parser.score(samples,
                   [&](size_t, const data::EncodedSample& sample, std::span<const float> scores) {
                     models::ComparedTrees trees = models::compare_trees(sample.bytes, scores);
                     scorer.add(std::move(trees.found), std::move(trees.gold), trees.loss);
                     tokens += sample.units;
                     truncated += sample.truncated() ? 1 : 0;
                   });
    }
    if (count == 0) fail(ErrorKind::bad_file, "{}: no trees", file);
    const double seconds = watch.seconds();
    print(common.json ? json_of(file, split, scorer, count, tokens, truncated, seconds,
                                gpu ? "cuda" : "cpu", parser.model().dtype())
                      : text_of(file, scorer, count, truncated, seconds));
  }
  return kDone;
}

}  // namespace hone::cli
