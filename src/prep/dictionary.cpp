#include "prep/dictionary.h"

#include "base/error.h"

namespace hone::prep {

Dictionary::Dictionary(std::vector<std::string> words, std::span<const std::string> stop_words)
    : words_(std::move(words)), table_(words_.size() + stop_words.size()) {
  for (const std::string& word : stop_words) {
    const std::string padded = word + std::string(WordTable::kShort, '\0');
    if (table_.find(padded.data(), word.size()) == WordTable::kAbsent) table_.add(word, kStop);
  }
  for (size_t i = 0; i < words_.size(); ++i) table_.add(words_[i], static_cast<uint32_t>(i));
}

void CleanText::clean(std::string_view raw) {
  text_size_ = 0;
  units_ = 0;
  // A word of one letter and what separates it from the next may be spelled out in four units.
  const size_t most = scanner_.set_text(raw) + WordTable::kShort + 1;
  if (text_.size() < most) {
    text_.resize(most);
    codes_.resize(most * 2);
  }
  char* text = text_.data();
  uint16_t* codes = codes_.data();
  scanner_.scan([&](const char* word, size_t size) {
    const uint32_t code = dictionary_.find(word, size);
    if (size > WordTable::kShort || code == WordTable::kAbsent) [[unlikely]] {
      return take_other(word, size, code);
    }
    // A stop word is written, too, and then overwritten: a branch would be wrong half the time.
    const size_t kept = code != Dictionary::kStop;
    std::memcpy(text + text_size_, word, WordTable::kShort);
    text[text_size_ + size] = ' ';
    text_size_ += kept * (size + 1);
    codes[units_] = static_cast<uint16_t>(code);
    units_ += kept;
  });
  if (text_size_ > 0) --text_size_;
}

void CleanText::take_other(const char* word, size_t size, uint32_t code) {
  if (code == Dictionary::kStop) return;
  std::memcpy(text_.data() + text_size_, word, size);
  text_[text_size_ + size] = ' ';
  text_size_ += size + 1;
  if (code != WordTable::kAbsent) {
    codes_[units_++] = static_cast<uint16_t>(code);
    return;
  }
  uint16_t* to = codes_.data() + units_;
  const size_t letters = (size + 1) / 2;
  to[0] = Dictionary::kSpelled;
  to[1] = static_cast<uint16_t>(size & 0xffff);
  to[2] = static_cast<uint16_t>(size >> 16);
  to[2 + letters] = 0;  // equal words have equal units
  std::memcpy(to + 3, word, size);
  units_ += 3 + letters;
}

void append_words(const Dictionary& dictionary, std::span<const uint16_t> units, std::string& out) {
  const size_t begin = out.size();
  const auto add = [&](std::string_view word) {
    out += word;
    out += ' ';
    return true;
  };
  walk(
      units,
      [&](uint16_t code) {
        return code < dictionary.words().size() && add(dictionary.words()[code]);
      },
      add);
  if (out.size() > begin) out.pop_back();
}

}  // namespace hone::prep
