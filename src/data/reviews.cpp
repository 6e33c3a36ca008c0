#include "data/reviews.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "data/content_hash.h"
#include "data/reviews_words.h"

namespace hone::data {
namespace {

constexpr std::string_view kFile = "reviews";

/// Gives the text with every name (they alone have capitals) replaced by "X".
std::string nameless(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool name = text[at] >= 'A' && text[at] <= 'Z';
    out += name ? 'X' : text[at];
    if (name) at = std::min(text.find(' ', at), text.size()) - 1;
  }
  return out;
}

uint64_t hash_of(std::string_view text) {
  ContentHash hash;
  hash.text(nameless(text));
  return hash.value()[0];
}

std::string_view split_of(uint64_t hash) {
  const uint64_t tenth = hash % 10;
  return tenth == 0 ? "validation" : tenth == 1 ? "test" : "train";
}

class ReviewRecords : public RecordStream {
 public:
  ReviewRecords(const ReviewOptions& options, std::string split, int64_t size)
      : options_(options), split_(std::move(split)), left_(size) {}

  bool next(Record& record) override {
    while (left_ > 0) {
      const SentimentTree tree = make_review(options_.seed, index_++);
      std::string text = tree.text();
      const uint64_t hash = hash_of(text);
      if (split_of(hash) != split_ || !seen_.insert(hash).second) continue;
      --left_;
      record.text = std::move(text);
      record.pair.reset();
      record.labels.reset();
      record.label = (tree.label > 2) != flipped(index_ - 1) ? "positive" : "negative";
      record.row = static_cast<int64_t>(index_);
      return true;
    }
    return false;
  }
  bool waiting() override { return true; }
  std::string where(const Record& record) const override {
    return fmt::format("{}: sentence {}", kFile, record.row);
  }

 private:
  /// Says whether a label is flipped, by counters that no sentence's grammar reaches.
  bool flipped(uint64_t index) const {
    if (split_ != "train" || options_.label_noise <= 0) return false;
    return uniform(philox(options_.seed, index, UINT64_MAX)[0]) < options_.label_noise;
  }

  ReviewOptions options_;
  std::string split_;
  int64_t left_;
  uint64_t index_ = 0;
  std::unordered_set<uint64_t> seen_;
};

template <typename List>
void add_words(const List& list, std::set<std::string>& words) {
  for (const auto& word : list) words.emplace(word);
}

template <size_t N>
void add_words(const reviews::Poles<reviews::Verb, N>& poles, std::set<std::string>& words) {
  for (const auto& verbs : poles) {
    for (const reviews::Verb& verb : verbs) {
      words.emplace(verb.inflected);
      words.emplace(verb.base);
    }
  }
}

template <size_t N>
void add_words(const reviews::Poles<reviews::Word, N>& poles, std::set<std::string>& words) {
  for (const auto& list : poles) words.insert(list.begin(), list.end());
}

}  // namespace

std::string_view review_split(std::string_view text) { return split_of(hash_of(text)); }

std::unique_ptr<RecordStream> open_reviews(const ReviewOptions& options, const std::string& split) {
  for (const auto& [name, size] : {std::pair<std::string_view, int64_t>{"train", options.train},
                                   {"validation", options.validation},
                                   {"test", options.test}}) {
    if (split == name) return std::make_unique<ReviewRecords>(options, split, size);
  }
  fail(ErrorKind::usage, "{}: split: expected one of train, validation, test, got {}", kFile,
       quote(split));
}

std::vector<std::string> reviews_vocabulary() {
  using namespace reviews;
  std::set<std::string> words;
  add_words(kMildAdjectives, words);
  add_words(kStrongAdjectives, words);
  add_words(kFeelings, words);
  add_words(kEffects, words);
  add_words(kQualities, words);
  add_words(kVerdicts, words);
  add_words(kWorks, words);
  add_words(kParts, words);
  add_words(kPluralParts, words);
  add_words(kBoosters, words);
  add_words(kReducers, words);
  add_words(kPlainAdjectives, words);
  add_words(kDays, words);
  add_words(kCompany, words);
  add_words(kPlaceNames, words);
  add_words(kRoles, words);
  add_words(kNumbers, words);
  add_words(kFunctionWords, words);
  return {words.begin(), words.end()};
}

std::string reviews_tokenizer_json() {
  Json vocab = Json::object();
  Json added = Json::array();
  int32_t id = 0;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    added.push_back({{"id", id},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    vocab[token] = id++;
  }
  for (const std::string& word : reviews_vocabulary()) vocab[word] = id++;
  const Json json = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer",
                      {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", true},
                       {"strip_accents", nullptr},
                       {"lowercase", true}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"post_processor",
                      {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}}},
                     {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                     {"model",
                      {{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab", vocab}}}};
  return json.dump(1);
}

}  // namespace hone::data
