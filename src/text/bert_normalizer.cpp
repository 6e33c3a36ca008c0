#include <utility>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

void surround_chinese(AlignedText& text, AlignedText& spare) {
  const Unicode& unicode = Unicode::tables();
  Rewriter rewriter(text, spare);
  while (!rewriter.at_end()) {
    const char32_t code = rewriter.next();
    const bool chinese = unicode.is(code, kChinese);
    if (chinese) rewriter.put_ahead(U' ');
    rewriter.put(code);
    if (chinese) rewriter.insert(U' ');
  }
  std::swap(text, spare);
}

/// Says whether marks that stay would be put in another order, which moves their alignment.
bool may_reorder(std::string_view text) {
  const Unicode& unicode = Unicode::tables();
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if ((unicode.classes(c.code) & (kReorders | kNonspacing)) == kReorders) return true;
    at += c.size;
  }
  return false;
}

void apply_one_by_one(const BertNormalizer::Options& options, AlignedText& text,
                      AlignedText& spare) {
  if (options.clean_text) Filter(kBertDropped, kBertSpace).apply(text, spare);
  if (options.handle_chinese_chars) surround_chinese(text, spare);
  if (options.strip_accents) {
    UnicodeNormalizer(false, false).apply(text, spare);
    Filter(kNonspacing, 0).apply(text, spare);
  }
  if (options.lowercase) Lowercase().apply(text, spare);
}

void put_letter(const BertNormalizer::Options& options, const Unicode& unicode, char32_t code,
                Rewriter& rewriter) {
  if (options.strip_accents && unicode.is(code, kNonspacing)) return;
  if (!options.lowercase) return rewriter.put_ahead(code);
  uint32_t memory[3];
  for (const uint32_t lower : unicode.lowercase(code, memory)) rewriter.put_ahead(lower);
}

}  // namespace

void BertNormalizer::apply(AlignedText& text, AlignedText& spare) const {
  if (options_.strip_accents && may_reorder(text.text())) {
    return apply_one_by_one(options_, text, spare);
  }
  // Without reordering every step acts on one character alone, so one pass does them all.
  const Unicode& unicode = Unicode::tables();
  Rewriter rewriter(text, spare);
  for (; !rewriter.at_end(); rewriter.drop()) {
    const char32_t code = rewriter.next();
    const uint16_t classes = unicode.classes(code);
    if (options_.clean_text && (classes & (kBertDropped | kBertSpace))) {
      if (!(classes & kBertDropped)) rewriter.put_ahead(U' ');
      continue;
    }
    const bool chinese = options_.handle_chinese_chars && (classes & kChinese);
    if (chinese) rewriter.put_ahead(U' ');
    if (options_.strip_accents && (classes & kDecomposes)) {
      uint32_t memory[3];
      for (const uint32_t part : unicode.decompose(code, false, memory)) {
        put_letter(options_, unicode, part, rewriter);
      }
    } else {
      put_letter(options_, unicode, code, rewriter);
    }
    if (chinese) rewriter.put_ahead(U' ');
  }
  std::swap(text, spare);
}

}  // namespace hone::text
