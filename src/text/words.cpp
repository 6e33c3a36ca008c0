#include "text/words.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/stop_words.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

std::unique_ptr<Normalizer> word_normalizer() {
  std::vector<std::unique_ptr<Normalizer>> parts;
  for (const char* apostrophe : {"\u2019", "\u02BC"}) {
    parts.push_back(std::make_unique<Replace>(Pattern::string(apostrophe), "'"));
  }
  parts.push_back(std::make_unique<Lowercase>());
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

bool is_letter(char32_t code) {
  if (code < 128) return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  const uint16_t classes = Unicode::tables().classes(code);
  return (classes & kWord) && !(classes & (kNumeric | kPunctuation));
}

/// Adds the word of bytes [begin, end), without apostrophes at its ends, where it counts.
void add_clean(std::string_view text, size_t begin, size_t end, uint32_t origin,
               bool keep_stop_words, std::vector<Span>& out) {
  while (begin < end && text[begin] == '\'') ++begin;
  while (begin < end && text[end - 1] == '\'') --end;
  if (begin == end) return;
  if (!keep_stop_words && is_stop_word(text.substr(begin, end - begin))) return;
  out.push_back({origin + static_cast<uint32_t>(begin), origin + static_cast<uint32_t>(end)});
}

std::vector<std::pair<std::string, int32_t>> numbered(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, int32_t>> vocab = {{"<pad>", kPadWord},
                                                        {"<unk>", kUnknownWord}};
  for (const std::string& word : words) {
    vocab.emplace_back(word, static_cast<int32_t>(vocab.size()));
  }
  return vocab;
}

}  // namespace

void CleanWords::apply(Words& words, WordsMemory& memory) const {
  memory.ranges.clear();
  for (const Span& range : words.ranges) {
    const std::string_view text = words.text.text().substr(range.begin, range.end - range.begin);
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const Utf8Char c = decode_utf8(text, at);
      if (c.code != '\'' && !is_letter(c.code)) {
        add_clean(text, begin, at, range.begin, keep_stop_words_, memory.ranges);
        begin = at + c.size;
      }
      at += c.size;
    }
    add_clean(text, begin, text.size(), range.begin, keep_stop_words_, memory.ranges);
  }
  words.ranges.swap(memory.ranges);
}

WordLevel::WordLevel(const std::vector<std::string>& words, const std::string& file)
    : vocab_(numbered(words), file) {}

void WordLevel::tokenize(std::string_view pretoken, Scratch&, std::vector<Piece>& out) const {
  const int32_t id = vocab_.id_of(pretoken);
  out.push_back({id < 0 ? kUnknownWord : id, 0, static_cast<uint32_t>(pretoken.size())});
}

TokenizerParts build_word_tokenizer(std::string_view vocabulary, const std::string& file) {
  if (!is_valid_utf8(vocabulary)) fail(ErrorKind::bad_file, "{}: not valid UTF-8", file);
  std::vector<std::string> words;
  std::unordered_map<std::string, size_t> lines;
  for (size_t at = 0; at < vocabulary.size();) {
    const size_t end = std::min(vocabulary.find('\n', at), vocabulary.size());
    std::string word(vocabulary.substr(at, end - at));
    at = end + 1;
    if (!word.empty() && word.back() == '\r') word.pop_back();
    const size_t line = words.size() + 1;
    if (word.empty() || word == "<pad>" || word == "<unk>") {
      fail(ErrorKind::bad_file, "{}: line {}: expected a word, got {}", file, line, quote(word));
    }
    const auto [first, is_new] = lines.emplace(word, line);
    if (!is_new) {
      fail(ErrorKind::bad_file, "{}: line {}: {} stands in line {} already", file, line,
           quote(word), first->second);
    }
    words.push_back(std::move(word));
  }
  TokenizerParts parts;
  parts.file = file;
  parts.normalizer = word_normalizer();
  // Who counted stop words wants them read, too.
  const bool has_stop_words = std::ranges::any_of(words, is_stop_word);
  parts.pre_tokenizers.push_back(std::make_unique<CleanWords>(has_stop_words));
  parts.model_id_end = kFirstWord + static_cast<int32_t>(words.size());
  parts.model = std::make_unique<WordLevel>(words, file);
  return parts;
}

WordCounter::WordCounter() : normalizer_(word_normalizer()) {}

void WordCounter::add(std::string_view text) {
  words_.text.assign(is_valid_utf8(text) ? std::string(text) : replace_invalid_utf8(text), 0);
  normalizer_->apply(words_.text, spare_);
  words_.ranges = {{0, static_cast<uint32_t>(words_.text.text().size())}};
  CleanWords().apply(words_, memory_);
  for (const Span& range : words_.ranges) {
    word_.assign(words_.text.text(), range.begin, range.end - range.begin);
    ++counts_[word_];
  }
}

std::vector<std::string> WordCounter::commonest(size_t count) const {
  std::vector<std::pair<int64_t, std::string_view>> sorted;
  sorted.reserve(counts_.size());
  for (const auto& [word, times] : counts_) sorted.emplace_back(-times, word);
  const size_t kept = std::min(count, sorted.size());
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<int64_t>(kept), sorted.end());
  std::vector<std::string> words;
  for (size_t i = 0; i < kept; ++i) words.emplace_back(sorted[i].second);
  return words;
}

}  // namespace hone::text
