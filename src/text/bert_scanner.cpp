#include "text/bert_scanner.h"

#include "text/unicode.h"

namespace hone::text {
namespace {

// Longer words are rare and go the general way; most are unknown anyway.
constexpr size_t kLongestWord = 256;

}  // namespace

BertScanner::BertScanner(const BertNormalizer* normalizer, const WordPiece& model) : model_(model) {
  const Unicode& unicode = Unicode::tables();
  const bool clean = normalizer && normalizer->options().clean_text;
  const bool lowercase = normalizer && normalizer->options().lowercase;
  kinds_.fill(Kind::other);
  for (unsigned c = 0; c < 0x80; ++c) {
    const uint16_t classes = unicode.classes(c);
    letters_[c] = static_cast<char>(lowercase && c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    if (clean && (classes & kBertDropped)) continue;
    const bool space = (classes & kWhitespace) || (clean && (classes & kBertSpace));
    kinds_[c] = space ? Kind::space : (classes & kPunctuation) ? Kind::punctuation : Kind::letter;
  }
}

void BertScanner::scan(std::string_view text, uint32_t origin, Model::Scratch& scratch,
                       std::vector<Piece>& pieces, General general, TokenList& out) const {
  const auto kind = [&](size_t at) { return kinds_[static_cast<unsigned char>(text[at])]; };
  for (size_t at = 0; at < text.size();) {
    if (kind(at) == Kind::space) {
      ++at;
      continue;
    }
    const size_t begin = at;
    const size_t tokens = out.ids.size();
    if (scan_chunk(text, at, origin, scratch, pieces, out)) continue;
    out.ids.resize(tokens);
    out.offsets.resize(tokens);
    while (at < text.size() && kind(at) != Kind::space) ++at;
    general(begin, at);
  }
}

/// Leaves `at` behind what was done; false where the chunk holds something else than ASCII letters
/// and punctuation.
bool BertScanner::scan_chunk(std::string_view text, size_t& at, uint32_t origin,
                             Model::Scratch& scratch, std::vector<Piece>& pieces,
                             TokenList& out) const {
  char word[kLongestWord];
  while (at < text.size()) {
    const Kind kind = kinds_[static_cast<unsigned char>(text[at])];
    if (kind == Kind::space) return true;
    if (kind == Kind::other) return false;
    const size_t begin = at;
    uint64_t hash = VocabTable::kEmptyHash;
    size_t size = 0;
    do {
      const char c = letters_[static_cast<unsigned char>(text[at++])];
      hash = VocabTable::extend(hash, c);
      word[size++] = c;
    } while (kind == Kind::letter && size < kLongestWord && at < text.size() &&
             kinds_[static_cast<unsigned char>(text[at])] == Kind::letter);
    if (size == kLongestWord) return false;
    const uint32_t start = origin + static_cast<uint32_t>(begin);
    const int32_t whole = model_.find_whole({word, size}, hash);
    if (whole >= 0) {
      out.ids.push_back(whole);
      out.offsets.push_back({start, start + static_cast<uint32_t>(size)});
      continue;
    }
    pieces.clear();
    model_.tokenize({word, size}, scratch, pieces);
    for (const Piece& piece : pieces) {
      out.ids.push_back(piece.id);
      out.offsets.push_back({start + piece.begin, start + piece.end});
    }
  }
  return true;
}

}  // namespace hone::text
