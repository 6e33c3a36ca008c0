#include "prep/word_scanner.h"

#include <array>
#include <cstring>

#include "base/utf8.h"
#include "kernels/cpu/letters.h"
#include "text/unicode.h"

namespace hone::prep {
namespace {

constexpr size_t kBlock = 64;
constexpr std::array<char32_t, 2> kApostrophes = {U'\u2019', U'\u02BC'};

bool is_letter(char32_t code, const text::Unicode& unicode) {
  return unicode.is(code, text::kWord) && !unicode.is(code, text::kNumeric | text::kPunctuation);
}

}  // namespace

bool WordScanner::set_ascii(std::string_view text) {
  blocks_ = text.size() / kBlock + 1;
  if (lower_.size() < blocks_ * kBlock + kPadding) lower_.resize(blocks_ * kBlock + kPadding);
  if (bits_.size() < blocks_) bits_.resize(blocks_);
  const size_t whole = blocks_ - 1;
  auto* lower = reinterpret_cast<uint8_t*>(lower_.data());
  const auto* from = reinterpret_cast<const uint8_t*>(text.data());
  bool high = kernels::letters(from, static_cast<int64_t>(whole), lower, bits_.data());
  std::array<uint8_t, kBlock> last{};
  std::memcpy(last.data(), from + whole * kBlock, text.size() - whole * kBlock);
  high |= kernels::letters(last.data(), 1, lower + whole * kBlock, bits_.data() + whole);
  return !high;
}

size_t WordScanner::set_text(std::string_view text) {
  blocks_ = 0;
  if (text.empty() || set_ascii(text)) return text.size();
  fold(text);
  set_ascii(folded_);
  return folded_.size();
}

/// Makes a text in which all that is not ASCII belongs to words.
void WordScanner::fold(std::string_view text) {
  const text::Unicode& unicode = text::Unicode::tables();
  folded_.clear();
  size_t plain = 0;  // where the ASCII that is not copied yet begins
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    folded_.append(text, plain, at - plain);
    const Utf8Char c = decode_utf8(text, at);
    at += c.size;
    plain = at;
    if (c.code == kApostrophes[0] || c.code == kApostrophes[1]) {
      folded_ += '\'';
    } else if (!c.valid || !is_letter(c.code, unicode)) {
      folded_ += ' ';
    } else if (unicode.is(c.code, text::kLowercases)) {
      uint32_t memory[3];
      for (const uint32_t lower : unicode.lowercase(c.code, memory)) append_utf8(lower, folded_);
    } else {
      append_utf8(c.code, folded_);
    }
  }
  folded_.append(text, plain);
}

}  // namespace hone::prep
