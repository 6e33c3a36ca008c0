#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "base/version.h"
#include "data/content_hash.h"
#include "data/entry_store.h"
#include "prep/counts.h"
#include "prep/stages.h"
#include "prep/stop_words.h"

namespace hone::prep {
namespace {

constexpr int kMostBits = 12;
constexpr size_t kSampledParts = 64;
constexpr uint64_t kFewestSampled = 64 << 10;
constexpr uint64_t kSampledBytes = uint64_t{16} << 20;
constexpr uint64_t kSampledShare = 32;  // one byte of so many is read for it

std::string hash_of_words(const std::vector<std::string>& words) {
  data::ContentHash hash;
  for (const std::string& word : words) hash.text(word);
  return data::hex(hash.value());
}

/// Says what the result depends on, by names that users know.
OrderedJson plan_of(const Job& job) {
  const PrepOptions& options = job.options;
  OrderedJson inputs = OrderedJson::array();
  for (const Input& input : job.inputs) {
    inputs.push_back({{"path", input.path},
                      {"bytes", input.bytes},
                      {"changed", input.changed},
                      {"format", static_cast<int>(input.format)}});
  }
  return {{"version", kVersion},
          {"input", inputs},
          {"text_field", options.fields.text},
          {"label_field", options.fields.label},
          {"stop_words", hash_of_words(job.stop_words)},
          {"vocabulary", options.vocabulary_size},
          {"vocabulary_file", hash_of_words(job.vocabulary)},
          {"tokenizer", job.tokenizer_hash},
          {"max_length", options.max_length},
          {"part_bytes", options.part_bytes},
          {"partition_bytes", options.partition_bytes}};
}

void compare_plans(const Job& job, const OrderedJson& mine) {
  std::string bytes;
  const std::string path = job.folder + "/plan.json";
  if (!read_sealed(path, bytes)) {
    fail(ErrorKind::bad_file, "{}: damaged; remove {} and start again", path, job.folder);
  }
  const Json begun = parse_json(bytes, path);
  for (const auto& [field, value] : mine.items()) {
    const Json now = value;
    const Json then = begun.value(field, Json());
    if (now == then) continue;
    fail(ErrorKind::usage,
         "prep.output: {} was begun with another {}: {}, now {}; remove it to begin anew",
         job.folder, field, quote(then.dump(-1, ' ', false, Json::error_handler_t::replace)),
         quote(now.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
}

/// Counts the words of texts here and there in the input, and gives the commonest.
std::vector<std::string> sample_words(const Job& job) {
  const Dictionary none({}, job.stop_words);
  CleanText clean(none);
  WordMap<uint64_t> counts;
  const size_t parts = std::min(kSampledParts, job.parts.size());
  const uint64_t bytes = unpacked_bytes(job.inputs) / kSampledShare + kFewestSampled;
  const uint64_t most = std::min(kSampledBytes, bytes) / parts;
  for (size_t i = 0; i < parts; ++i) {
    const Part& part = job.parts[i * job.parts.size() / parts];
    try {
      const auto reviews = open_part(job.inputs[part.input], part, job.options.fields);
      uint64_t read = 0;
      for (Review review; read < most && reviews->next(review); read += review.text.size() + 64) {
        clean.clean(review.text);
        walk(
            clean.codes(), [](uint16_t) { return true; },
            [&](std::string_view word) {
              const auto found = counts.find(word);
              if (found == counts.end()) {
                counts.emplace(word, 1);
              } else {
                ++found->second;
              }
              return true;
            });
      }
    } catch (const Error&) {
      // The part's own turn says it, with the line.
    }
  }
  std::vector<std::pair<uint64_t, std::string>> order;
  for (auto& [word, count] : counts) order.emplace_back(~count, word);
  std::sort(order.begin(), order.end());
  if (order.size() > Dictionary::kMostWords) order.resize(Dictionary::kMostWords);
  std::vector<std::string> words;
  for (auto& [count, word] : order) words.push_back(std::move(word));
  return words;
}

void open_ids(Job& job) {
  const PrepOptions& options = job.options;
  if (!options.vocabulary_file.empty()) {
    job.vocabulary = data::read_vocabulary(options.vocabulary_file);
  }
  if (options.tokenizer.empty()) return;
  job.tokenizer.emplace(text::Tokenizer::load(options.tokenizer));
  data::ContentHash hash;
  if (!folder_exists(options.tokenizer)) {
    hash.file(options.tokenizer);
  } else {
    for (const char* name : text::kTokenizerFiles) {
      const std::string path = options.tokenizer + "/" + name;
      if (file_exists(path)) hash.file(path);
    }
  }
  job.tokenizer_hash = data::hex(hash.value());
}

}  // namespace

void plan_stage(Job& job) {
  for (const std::string& path : job.options.inputs) {
    job.inputs.push_back(describe_input(path, job.options.format));
  }
  job.parts = cut_parts(job.inputs, job.options.part_bytes);
  const uint64_t wanted = unpacked_bytes(job.inputs) / job.options.partition_bytes;
  job.bits = std::min(kMostBits, static_cast<int>(std::bit_width(wanted)));
  job.stop_words = stop_words(job.options.stop_words);
  open_ids(job);
  if (file_exists(job.options.output + "/" + data::entry_format::kIndex)) {
    fail(ErrorKind::usage, "prep.output: {} already holds a store", job.options.output);
  }
  if (!make_folders(job.folder)) {
    fail(creation_error_kind(errno), "{}: cannot create: {}", job.folder, std::strerror(errno));
  }
  job.pulse.emplace(job.folder, job.ranks, job.options.timeout);
  const std::string plan = job.folder + "/plan.json";
  const std::string dictionary = job.folder + "/dictionary.txt";
  const OrderedJson mine = plan_of(job);
  if (job.ranks.rank == 0 && !file_exists(plan)) write_work_file(plan, sealed(indented_json(mine)));
  job.pulse->wait([&] { return file_exists(plan); });
  compare_plans(job, mine);
  std::string words;
  if (job.ranks.rank == 0 && !read_sealed(dictionary, words)) {
    write_work_file(dictionary, sealed(vocabulary_text(sample_words(job))));
  }
  job.pulse->wait([&] { return read_sealed(dictionary, words); });
  job.dictionary.emplace(lines_of_text(words), job.stop_words);
}

}  // namespace hone::prep
