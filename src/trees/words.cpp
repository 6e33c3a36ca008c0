#include "trees/words.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "text/unicode.h"
#include "trees/normal_text.h"

namespace hone::trees {
namespace {

std::u32string code_points(std::string_view text) {
  std::u32string codes;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    codes.push_back(c.code);
    at += c.size;
  }
  return codes;
}

bool is_mark(char32_t code) { return text::Unicode::tables().is(code, text::kPunctuation); }
char32_t plain(char32_t code) { return code == 0x2019 ? U'\'' : code; }

/// Gives the number of code points of the English ending that `word` has behind something else;
/// 0: none.
size_t ending(std::u32string_view word) {
  static constexpr std::array<std::u32string_view, 7> kEndings = {U"n't", U"'ll", U"'re", U"'ve",
                                                                  U"'s",  U"'d",  U"'m"};
  for (const std::u32string_view each : kEndings) {
    if (word.size() <= each.size()) continue;
    const std::u32string_view end = word.substr(word.size() - each.size());
    const auto same = [](char32_t a, char32_t b) {
      a = plain(a);
      return a == b || (a >= U'A' && a <= U'Z' && a + (U'a' - U'A') == b);
    };
    if (std::equal(end.begin(), end.end(), each.begin(), same)) return each.size();
  }
  return 0;
}

/// Says whether a word's last dot belongs to it: initials, and what has another dot.
bool keeps_dot(std::u32string_view before) {
  if (before.size() == 1) return !is_mark(before[0]);
  return before.find(U'.') != before.npos;
}

/// Gives the length of the run of one character at a word's begin, or, `backwards`, at its end.
size_t run_of(std::u32string_view word, bool backwards) {
  const char32_t mark = backwards ? word.back() : word.front();
  size_t count = 1;
  while (count < word.size() && (backwards ? word[word.size() - 1 - count] : word[count]) == mark) {
    ++count;
  }
  return count;
}

/// Appends the words of [begin, end), which has no spaces.
void split_chunk(std::u32string_view codes, uint32_t begin, uint32_t end,
                 std::vector<WordPlace>& words) {
  const auto rest = [&] { return codes.substr(begin, end - begin); };
  while (begin < end && is_mark(codes[begin])) {
    // A word that is an ending already ("'s") stays whole.
    if (plain(codes[begin]) == U'\'' && end - begin <= 3 && end - begin > 1 &&
        !is_mark(codes[begin + 1])) {
      break;
    }
    const auto count = static_cast<uint32_t>(run_of(rest(), false));
    words.push_back({begin, begin + count});
    begin += count;
  }
  std::vector<WordPlace> behind;  // last first
  while (begin < end) {
    const std::u32string_view word = rest();
    auto count = static_cast<uint32_t>(ending(word));
    if (count == 0 && is_mark(word.back())) {
      count = static_cast<uint32_t>(run_of(word, true));
      if (word.back() == U'.' && count == 1 && keeps_dot(word.substr(0, word.size() - 1))) break;
    }
    if (count == 0) break;
    behind.push_back({end - count, end});
    end -= count;
  }
  if (begin < end) words.push_back({begin, end});
  words.insert(words.end(), behind.rbegin(), behind.rend());
}

}  // namespace

std::optional<std::vector<WordPlace>> locate_words(const Tree& tree, std::string_view text) {
  const std::vector<NormalChar> chars = normal_chars(text);
  std::vector<WordPlace> places;
  size_t at = 0;
  for (const std::string& word : tree.words) {
    const std::vector<NormalChar> wanted = normal_chars(word);
    if (wanted.empty() || chars.size() - at < wanted.size()) return {};
    const auto same = [](const NormalChar& a, const NormalChar& b) { return a.code == b.code; };
    if (!std::equal(wanted.begin(), wanted.end(), chars.begin() + static_cast<ptrdiff_t>(at),
                    same)) {
      return {};
    }
    const uint32_t begin = chars[at].place;
    at += wanted.size();
    places.push_back({begin, chars[at - 1].place + 1});
  }
  if (at != chars.size()) return {};
  return places;
}

std::vector<WordPlace> split_words(std::string_view text) {
  const std::u32string codes = code_points(text);
  const text::Unicode& unicode = text::Unicode::tables();
  std::vector<WordPlace> words;
  const auto size = static_cast<uint32_t>(codes.size());
  for (uint32_t begin = 0; begin < size;) {
    uint32_t end = begin;
    while (end < size && !unicode.is(codes[end], text::kWhitespace)) ++end;
    if (end > begin) split_chunk(codes, begin, end, words);
    begin = end + 1;
  }
  return words;
}

std::vector<bool> sentence_ends(std::string_view text, const std::vector<WordPlace>& words) {
  const std::u32string codes = code_points(text);
  const auto all_of = [&](const WordPlace& word, std::u32string_view marks) {
    return std::all_of(codes.begin() + word.begin, codes.begin() + word.end, [&](char32_t code) {
      return marks.find(code) != std::u32string_view::npos;
    });
  };
  std::vector<bool> ends(words.size(), false);
  for (size_t i = 0; i < words.size(); ++i) {
    ends[i] = all_of(words[i], U".!?\u2026\u3002");
    const bool closes = all_of(words[i], U"\"'`)]}\u2019\u201D");
    if (i > 0 && closes && ends[i - 1]) {
      ends[i - 1] = false;
      ends[i] = true;
    }
  }
  return ends;
}

}  // namespace hone::trees
