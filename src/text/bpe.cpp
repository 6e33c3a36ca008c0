#include "text/bpe.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe_word.h"
#include "text/byte_level.h"
#include "text/piece_cache.h"

namespace hone::text {

struct Bpe::Memory : Model::Scratch {
  BpeWord word;
  PieceCache cache;
  std::string buffer;
};

Bpe::Bpe(const std::vector<std::pair<std::string, int32_t>>& vocab,
         const std::vector<std::pair<std::string, std::string>>& merges, BpeOptions options,
         const std::string& file)
    : vocab_(vocab, file),
      merges_(merges, vocab_, options.continuing_subword_prefix, file),
      options_(std::move(options)),
      file_(file) {
  if (!options_.unk_token.empty()) unk_id_ = vocab_.id_of(options_.unk_token);
  byte_level_ = options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty();
  for (unsigned byte = 0; byte < 256; ++byte) {
    fallback_ids_[byte] = vocab_.id_of(fmt::format("<0x{:02X}>", byte));
    std::string character;
    append_utf8(byte_level_alphabet()[byte], character);
    byte_ids_[byte] = vocab_.id_of(character);
    byte_level_ = byte_level_ && byte_ids_[byte] >= 0;
  }
}

std::unique_ptr<Model::Scratch> Bpe::make_scratch() const { return std::make_unique<Memory>(); }

/// Adds the symbols of one character that the vocabulary lacks, if its bytes are there instead.
bool Bpe::add_fallback(std::string_view character, BpeWord& word) const {
  for (const char c : character) {
    if (fallback_ids_[static_cast<unsigned char>(c)] < 0) return false;
  }
  for (const char c : character) word.add(fallback_ids_[static_cast<unsigned char>(c)], 1);
  return true;
}

void Bpe::add_characters(std::string_view text, Memory& memory) const {
  BpeWord& word = memory.word;
  uint32_t unknown = 0;  // bytes of the unknown token that is still open
  const auto close_unknown = [&] {
    if (unknown > 0) word.add(unk_id_, unknown);
    unknown = 0;
  };
  for (size_t at = 0; at < text.size();) {
    const uint32_t size = decode_utf8(text, at).size;
    std::string_view symbol = text.substr(at, size);
    const bool prefixed = at > 0 && !options_.continuing_subword_prefix.empty();
    at += size;
    const bool suffixed = at == text.size() && !options_.end_of_word_suffix.empty();
    if (prefixed || suffixed) {
      memory.buffer = prefixed ? options_.continuing_subword_prefix : "";
      memory.buffer += symbol;
      if (suffixed) memory.buffer += options_.end_of_word_suffix;
      symbol = memory.buffer;
    }
    if (const int32_t id = vocab_.id_of(symbol); id >= 0) {
      close_unknown();
      word.add(id, size);
    } else if (options_.byte_fallback && add_fallback(symbol, word)) {
      // `tokenizers` leaves an open unknown token open here, so that it comes after the bytes.
      continue;
    } else if (!options_.unk_token.empty()) {
      if (unk_id_ < 0) {
        fail(ErrorKind::bad_file, "{}: unk_token: not in the vocabulary, got {}", file_,
             quote(options_.unk_token));
      }
      if (!options_.fuse_unk) close_unknown();
      unknown += size;
    }
  }
  close_unknown();
}

void Bpe::tokenize(std::string_view pretoken, Scratch& scratch, std::vector<Piece>& out) const {
  if (pretoken.empty()) return;
  auto& memory = static_cast<Memory&>(scratch);
  memory.cache.recall(pretoken, false, out, [&] {
    const int32_t whole = options_.ignore_merges ? vocab_.id_of(pretoken) : -1;
    if (whole >= 0) {
      out.push_back({whole, 0, static_cast<uint32_t>(pretoken.size())});
      return;
    }
    memory.word.clear();
    add_characters(pretoken, memory);
    memory.word.merge(merges_);
    memory.word.emit(out);
  });
}

void Bpe::tokenize_bytes(std::string_view raw, Scratch& scratch, std::vector<Piece>& out) const {
  if (raw.empty()) return;
  auto& memory = static_cast<Memory&>(scratch);
  memory.cache.recall(raw, true, out, [&] {
    if (options_.ignore_merges) {
      memory.buffer.clear();
      append_byte_level(raw, memory.buffer);
      const int32_t whole = vocab_.id_of(memory.buffer);
      if (whole >= 0) {
        out.push_back({whole, 0, static_cast<uint32_t>(raw.size())});
        return;
      }
    }
    memory.word.clear();
    for (const char c : raw) memory.word.add(byte_ids_[static_cast<unsigned char>(c)], 1);
    memory.word.merge(merges_);
    memory.word.emit(out);
  });
}

}  // namespace hone::text
