#include "text/text_encoder.h"

#include <utility>

namespace hone::text {
namespace {

void note_spelling(std::string_view text, TokenList& out) {
  out.odd.emplace_back(static_cast<uint32_t>(out.ids.size()), text);
}

}  // namespace

TextEncoder::TextEncoder(TokenizerParts parts)
    : parts_(std::move(parts)),
      added_(parts_.added, *parts_.model, parts_.normalizer.get(), parts_.file) {
  const auto* normalizer = dynamic_cast<const BertNormalizer*>(parts_.normalizer.get());
  const auto* word_piece = dynamic_cast<const WordPiece*>(parts_.model.get());
  const bool bert_words =
      parts_.pre_tokenizers.size() == 1 &&
      dynamic_cast<const BertPreTokenizer*>(parts_.pre_tokenizers[0].get()) != nullptr;
  if (word_piece && bert_words && (normalizer || !parts_.normalizer) && !added_.has_normalized()) {
    scanner_.emplace(normalizer, *word_piece);
  }
  const auto* bpe = dynamic_cast<const Bpe*>(parts_.model.get());
  if (bpe && bpe->is_byte_level() && !parts_.pre_tokenizers.empty()) {
    auto* last = dynamic_cast<ByteLevelPreTokenizer*>(parts_.pre_tokenizers.back().get());
    if (last) {
      last->leave_raw();
      byte_model_ = bpe;
    }
  }
}

TextEncoder::Memory TextEncoder::make_memory() const {
  Memory memory;
  memory.scratch = parts_.model->make_scratch();
  return memory;
}

void TextEncoder::encode(std::string_view text, Memory& memory, TokenList& out) const {
  out.clear();
  if (!added_.has_raw()) return add_segment(text, 0, memory, out);
  added_.find_raw(text, memory.raw_matches);
  for (const AddedTokens::Match& match : memory.raw_matches) {
    const std::string_view found = text.substr(match.begin, match.end - match.begin);
    if (match.id >= 0) {
      add_token(match.id, found, {match.begin, match.end}, out);
    } else {
      add_segment(found, match.begin, memory, out);
    }
  }
}

void TextEncoder::add_token(int32_t id, std::string_view found, Span source, TokenList& out) const {
  if (found.empty()) return;
  if (found != added_.token_of(id)) note_spelling(found, out);
  out.ids.push_back(id);
  out.offsets.push_back(source);
}

/// Encodes the text between added tokens of the raw text.
void TextEncoder::add_segment(std::string_view text, uint32_t origin, Memory& memory,
                              TokenList& out) const {
  if (!scanner_) return add_general(text, origin, memory, out);
  const auto general = [&](size_t begin, size_t end) {
    add_general(text.substr(begin, end - begin), origin + static_cast<uint32_t>(begin), memory,
                out);
  };
  scanner_->scan(text, origin, *memory.scratch, memory.pieces, general, out);
}

void TextEncoder::add_general(std::string_view text, uint32_t origin, Memory& memory,
                              TokenList& out) const {
  if (!added_.has_normalized()) {
    memory.words.text.assign(text, origin);
    if (parts_.normalizer) parts_.normalizer->apply(memory.words.text, memory.spare);
    return add_words(memory, out);
  }
  AlignedText& normalized = memory.normalized;
  normalized.assign(text, origin);
  if (parts_.normalizer) parts_.normalizer->apply(normalized, memory.spare);
  added_.find_normalized(normalized.text(), memory.matches);
  for (const AddedTokens::Match& match : memory.matches) {
    if (match.id >= 0) {
      add_token(match.id, normalized.text().substr(match.begin, match.end - match.begin),
                normalized.source(match.begin, match.end), out);
      continue;
    }
    memory.words.text.assign(normalized, match.begin, match.end);
    add_words(memory, out);
  }
}

/// Encodes all of memory.words.text.
void TextEncoder::add_words(Memory& memory, TokenList& out) const {
  Words& words = memory.words;
  words.ranges.clear();
  if (words.text.text().empty()) return;
  words.ranges.push_back({0, static_cast<uint32_t>(words.text.text().size())});
  for (const auto& part : parts_.pre_tokenizers) part->apply(words, memory.words_memory);
  for (const Span& range : words.ranges) add_word(words.text, range, memory, out);
}

void TextEncoder::add_word(const AlignedText& text, Span range, Memory& memory,
                           TokenList& out) const {
  const std::string_view word = text.text().substr(range.begin, range.end - range.begin);
  memory.pieces.clear();
  if (byte_model_) {
    byte_model_->tokenize_bytes(word, *memory.scratch, memory.pieces);
  } else {
    parts_.model->tokenize(word, *memory.scratch, memory.pieces);
  }
  for (const Piece& piece : memory.pieces) {
    if (piece.id == parts_.spelled_as_text) {
      note_spelling(word.substr(piece.begin, piece.end - piece.begin), out);
    }
    out.ids.push_back(piece.id);
    // A model may count bytes that the word does not have; such a range stays as it is.
    out.offsets.push_back(piece.end <= word.size()
                              ? text.source(range.begin + piece.begin, range.begin + piece.end)
                              : Span{piece.begin, piece.end});
  }
}

}  // namespace hone::text
