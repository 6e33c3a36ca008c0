#include "prep/ids.h"

#include <algorithm>

#include "data/entry_store_format.h"

namespace hone::prep {

using data::entry_format::kFirstWord;
using data::entry_format::kUnknown;

VocabularyIndex::VocabularyIndex(const std::vector<std::string>& words,
                                 const Dictionary& dictionary)
    : by_code_(dictionary.words().size(), kUnknown) {
  for (size_t i = 0; i < words.size(); ++i) {
    by_word_.emplace(words[i], static_cast<int32_t>(i) + kFirstWord);
  }
  for (size_t code = 0; code < by_code_.size(); ++code) {
    const auto found = by_word_.find(dictionary.words()[code]);
    if (found == by_word_.end()) continue;
    by_code_[code] = found->second;
    by_word_.erase(found);
  }
}

class VocabularyIds : public IdMaker {
 public:
  explicit VocabularyIds(const VocabularyIndex& index) : index_(index) {}

  size_t make(std::span<const uint16_t> codes, std::span<int32_t> ids) override {
    size_t count = 0;
    const auto put = [&](int32_t id) {
      ids[count++] = id;
      return count < ids.size();
    };
    walk(
        codes,
        [&](uint16_t code) {
          return put(code < index_.by_code_.size() ? index_.by_code_[code] : kUnknown);
        },
        [&](std::string_view word) {
          const auto found = index_.by_word_.find(word);
          return put(found == index_.by_word_.end() ? kUnknown : found->second);
        });
    return count;
  }

 private:
  const VocabularyIndex& index_;
};

namespace {

class TokenizerIds : public IdMaker {
 public:
  TokenizerIds(const text::Tokenizer& tokenizer, const Dictionary& dictionary)
      : tokenizer_(tokenizer), dictionary_(dictionary), workspace_(tokenizer) {
    options_.truncation = tokenizer.truncation();
    if (!options_.truncation) options_.truncation.emplace();
  }

  size_t make(std::span<const uint16_t> codes, std::span<int32_t> ids) override {
    options_.truncation->max_length = ids.size();
    text_.clear();
    append_words(dictionary_, codes, text_);
    tokenizer_.encode({text_, {}}, options_, workspace_, encoding_);
    const size_t count = std::min(ids.size(), encoding_.ids.size());
    std::copy_n(encoding_.ids.begin(), count, ids.begin());
    return count;
  }

 private:
  const text::Tokenizer& tokenizer_;
  const Dictionary& dictionary_;
  text::Tokenizer::Workspace workspace_;
  text::EncodeOptions options_;
  text::Encoding encoding_;
  std::string text_;
};

}  // namespace

std::unique_ptr<IdMaker> VocabularyIndex::maker() const {
  return std::make_unique<VocabularyIds>(*this);
}

std::unique_ptr<IdMaker> tokenizer_ids(const text::Tokenizer& tokenizer,
                                       const Dictionary& dictionary) {
  return std::make_unique<TokenizerIds>(tokenizer, dictionary);
}

}  // namespace hone::prep
