#include "text/aligned_text.h"

#include <algorithm>

namespace hone::text {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool all_ascii(std::string_view text) {
  unsigned char seen = 0;
  for (const char c : text) seen |= static_cast<unsigned char>(c);
  return seen < 0x80;
}

}  // namespace

void AlignedText::assign(std::string_view text, uint32_t origin) {
  text_.assign(text);
  sources_.clear();
  origin_ = origin;
  ascii_ = all_ascii(text);
  identity_ = true;
}

void AlignedText::assign(const AlignedText& from, size_t begin, size_t end) {
  assign(from.text().substr(begin, end - begin), from.source(begin, end).begin);
  identity_ = from.identity_;
  if (identity_) return;
  const auto first = from.sources_.begin();
  sources_.assign(first + static_cast<ptrdiff_t>(begin), first + static_cast<ptrdiff_t>(end));
}

Span AlignedText::source(size_t at) const {
  if (!identity_) return sources_[at];
  size_t begin = at;
  while (is_continuation(text_[begin])) --begin;
  size_t end = at + 1;
  while (end < text_.size() && is_continuation(text_[end])) ++end;
  return {origin_ + static_cast<uint32_t>(begin), origin_ + static_cast<uint32_t>(end)};
}

Span AlignedText::source(size_t begin, size_t end) const {
  if (identity_ && ascii_) {
    return {origin_ + static_cast<uint32_t>(begin), origin_ + static_cast<uint32_t>(end)};
  }
  if (begin == end) {
    const uint32_t at = begin == 0 ? origin_ : source(begin - 1).end;
    return {at, at};
  }
  return {source(begin).begin, source(end - 1).end};
}

Rewriter::Rewriter(const AlignedText& from, AlignedText& to) : from_(from), to_(to) {
  to_.text_.clear();
  to_.sources_.clear();
  to_.origin_ = from.origin_;
  to_.ascii_ = true;
  to_.identity_ = false;
}

void Rewriter::append(char32_t code, Span source) {
  const size_t before = to_.text_.size();
  append_utf8(code, to_.text_);
  to_.ascii_ = to_.ascii_ && code < 0x80;
  to_.sources_.insert(to_.sources_.end(), to_.text_.size() - before, source);
}

void Rewriter::keep(size_t bytes) {
  const std::string_view kept = from_.text().substr(at_, bytes);
  to_.text_.append(kept);
  if (!from_.identity_) {
    const auto first = from_.sources_.begin() + static_cast<ptrdiff_t>(at_);
    to_.sources_.insert(to_.sources_.end(), first, first + static_cast<ptrdiff_t>(bytes));
    to_.ascii_ = to_.ascii_ && (from_.ascii_ || all_ascii(kept));
    at_ += bytes;
    return;
  }
  for (const size_t end = at_ + bytes; at_ < end;) {
    const uint8_t size = decode_utf8(from_.text_, at_).size;
    const uint32_t begin = from_.origin_ + static_cast<uint32_t>(at_);
    to_.sources_.insert(to_.sources_.end(), size, Span{begin, begin + size});
    to_.ascii_ = to_.ascii_ && size == 1;
    at_ += size;
  }
}

void Rewriter::put(char32_t code) {
  if (at_end()) return insert(code);
  append(code, from_.source(at_));
  drop();
}

void Rewriter::insert(char32_t code) {
  append(code, at_ == 0 ? Span{from_.origin_, from_.origin_} : from_.source(at_ - 1));
}

void Rewriter::drop() {
  if (!at_end()) at_ += decode_utf8(from_.text_, at_).size;
}

void Rewriter::step(char32_t code, int change) {
  if (change > 0) return insert(code);
  put(code);
  for (; change < 0; ++change) drop();
}

void Rewriter::replace(size_t bytes, std::string_view replacement) {
  const size_t end = at_ + bytes;
  for (size_t i = 0; i < replacement.size();) {
    const Utf8Char c = decode_utf8(replacement, i);
    step(c.code, at_ < end ? 0 : 1);
    i += c.size;
  }
  at_ = end;
}

}  // namespace hone::text
