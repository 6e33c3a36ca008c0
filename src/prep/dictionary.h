#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prep/word_scanner.h"
#include "prep/word_table.h"

namespace hone::prep {

/// Words as 16-bit codes, so that texts between the stages take little room and are compared and
/// counted without looking at letters. A dictionary holds words that a sample of the input has; all
/// others are spelled out behind a mark, so that what it holds changes no result.
class Dictionary {
 public:
  static constexpr uint16_t kSpelled = 0xffff;  ///< two units of the size follow, then the letters
  static constexpr size_t kMostWords = kSpelled;

  Dictionary(std::vector<std::string> words, std::span<const std::string> stop_words);

  const std::vector<std::string>& words() const { return words_; }
  /// Gives a word's code, kStop or WordTable::kAbsent; see WordTable::find().
  static constexpr uint32_t kStop = ~0u - 1;
  uint32_t find(const char* word, size_t size) const { return table_.find(word, size); }

 private:
  std::vector<std::string> words_;
  WordTable table_;
};

/// A cleaned text: its words with a space between them, and the same as codes.
class CleanText {
 public:
  explicit CleanText(const Dictionary& dictionary) : dictionary_(dictionary) {}

  /// Cleans a text: its words without those that are stop words.
  void clean(std::string_view raw);

  std::string_view text() const { return {text_.data(), text_size_}; }
  std::span<const uint16_t> codes() const { return {codes_.data(), units_}; }
  bool empty() const { return text_size_ == 0; }

 private:
  void take_other(const char* word, size_t size, uint32_t code);

  const Dictionary& dictionary_;
  WordScanner scanner_;
  std::vector<char> text_;
  std::vector<uint16_t> codes_;
  size_t text_size_ = 0;
  size_t units_ = 0;
};

/// Walks over codes: code(uint16_t) for words of the dictionary, spelled(std::string_view) for
/// others; each says whether to go on. Gives the units that were walked over. Codes that break off
/// end the walk.
template <typename Code, typename Spelled>
size_t walk(std::span<const uint16_t> units, Code&& code, Spelled&& spelled) {
  size_t at = 0;
  while (at < units.size()) {
    if (units[at] != Dictionary::kSpelled) [[likely]] {
      if (!code(units[at])) break;
      ++at;
      continue;
    }
    if (units.size() - at < 3) break;
    const size_t size = units[at + 1] | size_t{units[at + 2]} << 16;
    const size_t taken = 3 + (size + 1) / 2;
    if (taken > units.size() - at) break;
    if (!spelled(std::string_view(reinterpret_cast<const char*>(units.data() + at + 3), size)))
      break;
    at += taken;
  }
  return at;
}

/// Appends the words of codes, a space between them.
void append_words(const Dictionary& dictionary, std::span<const uint16_t> units, std::string& out);

}  // namespace hone::prep
