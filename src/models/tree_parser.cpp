#include "models/tree_parser.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"
#include "device/target.h"
#include "io/folder.h"
#include "models/load.h"
#include "models/stored_weights.h"
#include "nn/packing.h"
#include "plan/backend.h"

namespace hone::models {
namespace {

/// Gives the byte at which each code point of a text begins, and where the last one ends.
std::vector<size_t> code_point_bytes(std::string_view text) {
  std::vector<size_t> bytes;
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) bytes.push_back(at);
  bytes.push_back(text.size());
  return bytes;
}

/// Gives how many of a text's words make its first part, of which the model takes `kept`.
size_t words_of_part(std::string_view text, const std::vector<trees::WordPlace>& words,
                     size_t kept) {
  if (kept == 0 || kept == words.size()) return words.size();
  const std::vector<bool> ends = trees::sentence_ends(text, words);
  for (size_t word = kept; word > 0; --word) {
    if (ends[word - 1]) return word;
  }
  return kept;
}

}  // namespace

bool is_parser_folder(const std::string& model) {
  return is_parser(*open_model_folder(io::resolve_model(model)).config);
}

ComparedTrees compare_trees(std::span<const std::byte> sample, std::span<const float> scores) {
  const int64_t words = data::ParseProcessor::leaves(sample);
  ComparedTrees trees;
  trees.gold = data::ParseProcessor::constituents(sample);
  trees.loss = tree_loss(scores, words, trees.gold);
  if (!std::isfinite(trees.loss)) {
    fail(ErrorKind::bad_file, "the model's answer is not finite");
  }
  for (const trees::Constituent& each : models::parse(scores, words)) {
    if (each.size() < words) trees.found.emplace_back(each.begin, each.end);
  }
  return trees;
}

/// A part of a text, as the model reads it.
struct TreeParser::Part {
  size_t text;             ///< the number of its text
  std::string_view bytes;  ///< its own text
  int32_t first_word;      ///< words of the text before it
  data::Leaves leaves;     ///< over its own words
};

TreeParser::TreeParser(const std::string& folder, ThreadPool& pool, int64_t max_length,
                       std::optional<DType> dtype, bool gpu)
    : pool_(pool), folder_(open_model_folder(io::resolve_model(folder))) {
  const Family& family = family_of(*folder_.config);
  StoredWeights stored = open_stored(folder_);
  if (!is_parser(*folder_.config) || stored.packed || !stored.has_head(family)) {
    fail(ErrorKind::bad_file, "{}: is no parser, as training of task parse writes them",
         folder_.path);
  }
  std::unique_ptr<data::Processor> processor = family.open_processor(
      *folder_.config, {.path = folder_.path, .model = folder_.path, .max_units = max_length});
  processor_.reset(static_cast<data::ParseProcessor*>(processor.release()));
  model_ = make_model(*folder_.config,
                      {stored.dtype(*folder_.config, dtype), Target::of(gpu), true, {}});
  load_weights(*model_, *stored.checkpoint, pool_, {.adapter = stored.adapter.get()});
  pass_ = model_->record(OutputOptions{});
  runner_ = std::make_unique<Runner>(pass_.plan, model_->weights_for(pass_.shadows), pool_,
                                     Runner::Options{});
  model_->parameters().refresh(pool_);
}

void TreeParser::score(std::span<const data::RawSample> samples, Take take) {
  std::vector<data::EncodedSample> encoded;
  processor_->encode(samples, pool_, encoded);
  const Backend& backend = Backend::of(model_->parameters().target().device);
  const int64_t most = processor_->pass_units(backend.efficient_rows());
  data::Batch batch(processor_->layout());
  for (size_t first = 0; first < encoded.size();) {
    batch.clear();
    size_t end = first;
    for (; end < encoded.size(); ++end) {
      if (end > first && batch.units + encoded[end].units > most) break;
      processor_->append(encoded[end].bytes, 0, batch);
    }
    runner_->resize(batch.extents());
    pass_.bind(batch, *runner_);
    runner_->run();
    const float* scores = runner_->output<float>(pass_.output);
    for (; first < end; ++first) {
      const int64_t text = batch.size() - static_cast<int64_t>(end - first);
      take(first, encoded[first],
           {scores + batch.first(data::kCells, text),
            static_cast<size_t>(batch.rows(data::kCells, text))});
    }
  }
}

void TreeParser::find_parts(std::string_view text, size_t number, ParsedText& out,
                            std::vector<Part>& parts) const {
  const std::vector<size_t> bytes = code_point_bytes(text);
  uint32_t place = 0;  // the code point at which the part begins
  for (bool more = true; more;) {
    std::string_view rest = text.substr(bytes[place]);
    std::vector<trees::WordPlace> words = trees::split_words(rest);
    data::Leaves leaves = processor_->leaves_of(rest, words);
    const size_t count = words_of_part(rest, words, leaves.words);
    more = count < words.size();
    if (more) {
      rest = text.substr(bytes[place], bytes[place + words[count].begin] - bytes[place]);
      words = trees::split_words(rest);
      leaves = processor_->leaves_of(rest, words);
    }
    parts.push_back({number, rest, static_cast<int32_t>(out.words.size()), std::move(leaves)});
    for (const trees::WordPlace& word : words) {
      out.words.push_back({place + word.begin, place + word.end});
    }
    ++out.parts;
    place += static_cast<uint32_t>(count_code_points(replace_invalid_utf8(rest)));
  }
}

std::vector<ParsedText> TreeParser::parse(std::span<const std::string_view> texts) {
  std::vector<ParsedText> parsed(texts.size());
  std::vector<Part> parts;
  for (size_t i = 0; i < texts.size(); ++i) find_parts(texts[i], i, parsed[i], parts);
  std::vector<data::RawSample> samples;
  for (const Part& part : parts) samples.push_back({part.bytes, {}});
  score(samples, [&](size_t i, const data::EncodedSample& sample, std::span<const float> scores) {
    const Part& part = parts[i];
    ParsedText& text = parsed[part.text];
    const std::vector<data::Leaf>& leaves = part.leaves.list;
    const auto word_at = [&](int32_t leaf) {
      const auto at = static_cast<size_t>(leaf);
      const uint32_t word = at < leaves.size() ? leaves[at].first : part.leaves.words;
      return part.first_word + static_cast<int32_t>(word);
    };
    text.tokens += sample.units;
    const auto count = static_cast<int64_t>(leaves.size());
    for (const trees::Constituent& each : models::parse(scores, count)) {
      text.constituents.push_back({word_at(each.begin), word_at(each.end), {}});
    }
  });
  for (ParsedText& text : parsed) {
    const auto words = static_cast<int32_t>(text.words.size());
    std::vector<trees::Constituent>& all = text.constituents;
    if (words >= 2) all.push_back({0, words, {}});
    trees::sort_constituents(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return parsed;
}

}  // namespace hone::models
