#include "prep/pipes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/json_text.h"
#include "data/content_hash.h"
#include "data/entry_store.h"
#include "data/line_reader.h"
#include "prep/ids.h"
#include "prep/stop_words.h"

namespace hone::prep {
namespace {

constexpr size_t kHashDigits = 32;

/// What makes ids of a text's words, where the options ask for ids.
class TextIds {
 public:
  explicit TextIds(const PrepOptions& options)
      : vocabulary_(options.vocabulary_file.empty()
                        ? std::vector<std::string>()
                        : data::read_vocabulary(options.vocabulary_file)),
        dictionary_({vocabulary_.begin(),
                     vocabulary_.begin() + static_cast<ptrdiff_t>(std::min(
                                               vocabulary_.size(), Dictionary::kMostWords))},
                    std::vector<std::string>()),
        clean_(dictionary_),
        ids_(static_cast<size_t>(options.max_length)) {
    if (!options.vocabulary_file.empty()) {
      index_.emplace(vocabulary_, dictionary_);
      maker_ = index_->maker();
    } else if (!options.tokenizer.empty()) {
      tokenizer_.emplace(text::Tokenizer::load(options.tokenizer));
      maker_ = tokenizer_ids(*tokenizer_, dictionary_);
    }
  }

  /// Appends the ids of a cleaned text, or the text itself.
  void append(std::string_view text, std::string& line) {
    if (!maker_) {
      line += text;
      return;
    }
    clean_.clean(text);
    const size_t count = maker_->make(clean_.codes(), ids_);
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) line += ' ';
      append_json(line, ids_[i]);
    }
  }

 private:
  std::vector<std::string> vocabulary_;
  Dictionary dictionary_;
  CleanText clean_;
  std::optional<VocabularyIndex> index_;
  std::optional<text::Tokenizer> tokenizer_;
  std::unique_ptr<IdMaker> maker_;
  std::vector<int32_t> ids_;
};

void append_label(float label, std::string& line) {
  if (!std::isnan(label)) append_json(line, label);
}

struct PipeLine {
  std::string_view hash;
  float label = 0;
  std::string_view text;
};

PipeLine parse_line(const data::LineReader& lines, std::string_view line) {
  const auto refuse = [&](std::string_view expected) {
    fail(ErrorKind::bad_file, "{}: line {}: expected {}, got {}", lines.file(), lines.number(),
         expected, quote(line));
  };
  PipeLine parsed;
  parsed.hash = line.substr(0, line.find('\t'));
  const bool hex_digits = parsed.hash.find_first_not_of("0123456789abcdef") == parsed.hash.npos;
  if (parsed.hash.size() != kHashDigits || !hex_digits || line.size() == kHashDigits) {
    refuse("a hash of 32 digits and a tab");
  }
  const std::string_view rest = line.substr(kHashDigits + 1);
  const size_t tab = rest.find('\t');
  if (tab == rest.npos) refuse("a hash, a label and a text with tabs between them");
  const std::string_view label = rest.substr(0, tab);
  parsed.label = std::nanf("");
  if (!label.empty() && !parse_label(label, parsed.label)) refuse("a number as label");
  parsed.text = rest.substr(tab + 1);
  return parsed;
}

/// The texts of one hash, each with its labels.
class Group {
 public:
  void add(const PipeLine& line) { ++texts_[std::string(line.text)][line.label]; }
  void give(const std::string& hash, TextIds& ids, const TakeLine& take) {
    for (const auto& [text, labels] : texts_) {
      const auto commonest = std::max_element(labels.begin(), labels.end(), [](auto& a, auto& b) {
        return a.second < b.second;  // the first of those that are as common is kept
      });
      line_ = hash + '\t';
      append_label(commonest->first, line_);
      line_ += '\t';
      ids.append(text, line_);
      line_ += '\n';
      take(line_);
    }
    texts_.clear();
  }

 private:
  struct Below {
    bool operator()(float a, float b) const { return std::isnan(b) ? !std::isnan(a) : a < b; }
  };
  std::map<std::string, std::map<float, int64_t, Below>> texts_;
  std::string line_;
};

}  // namespace

void map_lines(std::unique_ptr<data::ByteSource> source, const std::string& name,
               const PrepOptions& options, const TakeLine& take) {
  const Dictionary stops({}, stop_words(options.stop_words));
  CleanText clean(stops);
  TextIds ids(options);
  const auto reviews = read_reviews(std::move(source), name,
                                    options.format.value_or(data::Format::jsonl), options.fields);
  std::string line;
  for (Review review; reviews->next(review);) {
    clean.clean(review.text);
    if (clean.empty()) continue;
    data::ContentHash hash;
    hash.bytes(clean.text().data(), clean.text().size());
    line = data::hex(hash.value());
    line += '\t';
    append_label(review.label, line);
    line += '\t';
    ids.append(clean.text(), line);
    line += '\n';
    take(line);
  }
}

void reduce_lines(std::unique_ptr<data::ByteSource> source, const std::string& name,
                  const PrepOptions& options, const TakeLine& take) {
  TextIds ids(options);
  data::LineReader lines(std::move(source), name);
  Group group;
  std::string hash;
  for (std::string_view line; lines.next(line);) {
    const PipeLine parsed = parse_line(lines, line);
    if (parsed.hash != hash) {
      group.give(hash, ids, take);
      if (parsed.hash < hash) {
        fail(ErrorKind::bad_file, "{}: line {}: its hash is lower than the one before; sort them",
             lines.file(), lines.number());
      }
      hash = parsed.hash;
    }
    group.add(parsed);
  }
  group.give(hash, ids, take);
}

}  // namespace hone::prep
