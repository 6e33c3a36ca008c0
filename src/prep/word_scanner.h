#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::prep {

/// Finds the words of texts. A word is a run of letters and apostrophes, in lower case, without
/// apostrophes at its ends; everything else separates words.
/// - Letters are Unicode's letters and marks (what \w matches, without digits and connectors).
/// - The lower case is Unicode's, of one code point at a time; texts are not normalised otherwise.
/// - U+2019 and U+02BC are apostrophes, as ' is. What is no UTF-8 separates.
/// Texts of ASCII alone are looked at by vectors of bytes; in others what is not ASCII is first
/// made lower case or a space.
class WordScanner {
 public:
  /// So many bytes behind a word that scan() hands out may be read, whatever they are.
  static constexpr size_t kPadding = 16;

  /// Takes a text, whose words scan() then hands out. Gives the bytes that they have together,
  /// at most.
  size_t set_text(std::string_view text);

  /// Calls take(const char* word, size_t size) for each word in order; words die with the next
  /// set_text().
  template <typename Take>
  void scan(Take&& take) const {
    const char* lower = lower_.data();
    uint64_t carried = 0;
    size_t begin = 0;
    bool inside = false;
    for (size_t block = 0; block < blocks_; ++block) {
      const uint64_t bits = bits_[block];
      uint64_t edges = bits ^ (bits << 1 | carried);
      carried = bits >> 63;
      for (; edges != 0; edges &= edges - 1) {
        size_t at = block * 64 + static_cast<size_t>(std::countr_zero(edges));
        if (!std::exchange(inside, !inside)) {
          begin = at;
          continue;
        }
        while (begin < at && lower[begin] == '\'') ++begin;
        while (begin < at && lower[at - 1] == '\'') --at;
        if (begin < at) take(lower + begin, at - begin);
      }
    }
  }

 private:
  /// Fills lower_ and bits_; the last block ends with a bit that is no word's. Gives false where
  /// the text is not ASCII.
  bool set_ascii(std::string_view text);
  void fold(std::string_view text);

  std::string folded_;
  std::vector<char> lower_;
  std::vector<uint64_t> bits_;  ///< a bit a byte: whether it belongs to a word
  size_t blocks_ = 0;
};

}  // namespace hone::prep
