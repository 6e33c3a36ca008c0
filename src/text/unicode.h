#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::text {

/// Says what a code point is to Hugging Face `tokenizers`. The tables come from probing that
/// package (tools/unicode_tables.py), which is not of one Unicode version.
enum CodeClass : uint16_t {
  kWhitespace = 1 << 0,         ///< whitespace; regular expressions' \s and Strip use it too
  kWord = 1 << 1,               ///< regular expressions' \w
  kPunctuation = 1 << 2,        ///< BertPreTokenizer and Punctuation
  kNumeric = 1 << 3,            ///< Digits
  kMark = 1 << 4,               ///< StripAccents
  kNonspacing = 1 << 5,         ///< BertNormalizer's strip_accents
  kBertDropped = 1 << 6,        ///< BertNormalizer's clean_text removes it
  kBertSpace = 1 << 7,          ///< BertNormalizer's clean_text makes it a space
  kChinese = 1 << 8,            ///< BertNormalizer's handle_chinese_chars
  kLowercases = 1 << 9,         ///< differs from its lower case
  kDecomposes = 1 << 10,        ///< NFD changes it
  kDecomposesCompat = 1 << 11,  ///< NFKD changes it
  kReorders = 1 << 12,          ///< has a combining class other than 0
  kNmtDropped = 1 << 13,
  kNmtSpace = 1 << 14,
  kRegexProxied = 1 << 15,
};

/// Two-level tables of all code points, built once from the generated runs.
class Unicode {
 public:
  static const Unicode& tables();

  uint16_t classes(char32_t code) const { return blocks_[index_[code >> 6] * 64u + (code & 63)]; }
  bool is(char32_t code, uint16_t any_of) const { return (classes(code) & any_of) != 0; }

  /// Order of the canonical combining class, 0 for starters. Only the order has a meaning.
  int combining_class(char32_t code) const;
  /// The full canonical or compatibility decomposition of a code point of that class, in order.
  /// Valid until the next call with the same `memory`.
  std::span<const uint32_t> decompose(char32_t code, bool compat, uint32_t (&memory)[3]) const;
  /// The primary composite of two code points, or 0.
  char32_t compose(char32_t first, char32_t second) const;
  /// The lower case, of up to three code points.
  std::span<const uint32_t> lowercase(char32_t code, uint32_t (&memory)[3]) const;
  /// A code point of the same length and category for one that the linked Oniguruma is too old to
  /// know as `tokenizers`' own does; for others the code point itself.
  char32_t regex_proxy(char32_t code) const;

 private:
  Unicode();

  std::vector<uint16_t> index_;  ///< block number for each 64 code points
  std::vector<uint16_t> blocks_;
  std::vector<uint32_t> canonical_starts_;
  std::vector<uint32_t> compat_starts_;
};

}  // namespace hone::text
