#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace hone::text {

/// Bytes [begin, end) of a text.
struct Span {
  uint32_t begin;
  uint32_t end;
  bool operator==(const Span&) const = default;
};

/// Text that knows which characters of the original input each of its bytes stands for. Follows
/// the rules of `tokenizers`' NormalizedString, on which the offsets of tokens rest. While nothing
/// has changed lengths no alignment is kept: byte i stands for itself.
class AlignedText {
 public:
  /// Starts over with `text` (valid UTF-8), which lies at byte `origin` of the input.
  void assign(std::string_view text, uint32_t origin);

  /// Starts over with bytes [begin, end) of another.
  void assign(const AlignedText& from, size_t begin, size_t end);

  std::string_view text() const { return text_; }
  bool is_ascii() const { return ascii_; }
  /// Byte of the input where this text begins.
  uint32_t origin() const { return origin_; }
  /// Gives the characters of the input that byte `at` stands for.
  Span source(size_t at) const;
  /// Gives the characters of the input that bytes [begin, end) stand for; an empty range gives an
  /// empty span at its place.
  Span source(size_t begin, size_t end) const;

  /// The caller may change bytes in place where a character becomes another of the same length.
  char* mutable_bytes() { return text_.data(); }

 private:
  friend class Rewriter;

  std::string text_;
  std::vector<Span> sources_;  ///< one a byte of text_; empty where each byte stands for itself
  uint32_t origin_ = 0;
  bool ascii_ = true;
  bool identity_ = true;
};

/// Makes one AlignedText from another, character by character. The target's memory is reused.
class Rewriter {
 public:
  Rewriter(const AlignedText& from, AlignedText& to);

  /// Copies the next `bytes` bytes (whole characters).
  void keep(size_t bytes);
  /// Puts `code` in place of the next character.
  void put(char32_t code);
  /// Adds `code`, which stands for what the character before the current place stands for.
  void insert(char32_t code);
  /// Adds `code`, which stands for the next character; that one is not passed.
  void put_ahead(char32_t code) { append(code, from_.source(at_)); }
  /// Leaves the next character out.
  void drop();
  /// Leaves the next `bytes` bytes out.
  void skip(size_t bytes) { at_ += bytes; }
  /// Takes one step as `tokenizers` counts them: inserts where `change` is 1; otherwise puts, and
  /// drops -change characters after it.
  void step(char32_t code, int change);
  /// Makes the next `bytes` bytes `replacement`: its k-th character stands for the k-th of the
  /// source, surplus ones are inserted, surplus characters of the source dropped.
  void replace(size_t bytes, std::string_view replacement);
  /// Gives the number of bytes written so far.
  size_t written() const { return to_.text_.size(); }
  /// Gives the byte of the source up to which it is done.
  size_t at() const { return at_; }
  bool at_end() const { return at_ == from_.text_.size(); }
  char32_t next() const { return decode_utf8(from_.text_, at_).code; }

 private:
  void append(char32_t code, Span source);

  const AlignedText& from_;
  AlignedText& to_;
  size_t at_ = 0;
};

}  // namespace hone::text
