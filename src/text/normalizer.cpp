#include "text/normalizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

bool any_of_class(std::string_view text, uint16_t classes) {
  const Unicode& unicode = Unicode::tables();
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (unicode.is(c.code, classes)) return true;
    at += c.size;
  }
  return false;
}

void lowercase_ascii(AlignedText& text) {
  char* bytes = text.mutable_bytes();
  for (size_t i = 0; i < text.text().size(); ++i) {
    if (bytes[i] >= 'A' && bytes[i] <= 'Z') bytes[i] = static_cast<char>(bytes[i] | 0x20);
  }
}

}  // namespace

void Lowercase::apply(AlignedText& text, AlignedText& spare) const {
  if (text.is_ascii()) return lowercase_ascii(text);
  if (!any_of_class(text.text(), kLowercases)) return;
  const Unicode& unicode = Unicode::tables();
  Rewriter rewriter(text, spare);
  while (!rewriter.at_end()) {
    uint32_t memory[3];
    for (const uint32_t code : unicode.lowercase(rewriter.next(), memory)) rewriter.put_ahead(code);
    rewriter.drop();
  }
  std::swap(text, spare);
}

void Filter::apply(AlignedText& text, AlignedText& spare) const {
  const uint16_t changed = dropped_ | spaced_;
  if (!any_of_class(text.text(), changed)) return;
  const Unicode& unicode = Unicode::tables();
  Rewriter rewriter(text, spare);
  while (!rewriter.at_end()) {
    const char32_t code = rewriter.next();
    const uint16_t classes = unicode.classes(code);
    if (classes & dropped_) {
      rewriter.drop();
    } else {
      rewriter.put(classes & spaced_ ? U' ' : code);
    }
  }
  std::swap(text, spare);
}

void StripEnds::apply(AlignedText& text, AlignedText& spare) const {
  const Unicode& unicode = Unicode::tables();
  const std::string_view all = text.text();
  size_t begin = 0;
  size_t end = all.size();
  while (left_ && begin < end) {
    const Utf8Char c = decode_utf8(all, begin);
    if (!unicode.is(c.code, kWhitespace)) break;
    begin += c.size;
  }
  while (right_ && begin < end) {
    size_t last = end - 1;
    while ((static_cast<unsigned char>(all[last]) & 0xC0) == 0x80) --last;
    if (!unicode.is(decode_utf8(all, last).code, kWhitespace)) break;
    end = last;
  }
  if (begin == 0 && end == all.size()) return;
  Rewriter rewriter(text, spare);
  rewriter.skip(begin);
  rewriter.keep(end - begin);
  std::swap(text, spare);
}

void Replace::apply(AlignedText& text, AlignedText& spare) const {
  thread_local std::vector<Stretch> stretches;
  pattern_.find(text.text(), stretches);
  const bool found = std::any_of(stretches.begin(), stretches.end(),
                                 [](const Stretch& stretch) { return stretch.match; });
  if (!found) return;
  Rewriter rewriter(text, spare);
  for (const Stretch& stretch : stretches) {
    if (!stretch.match) {
      rewriter.keep(stretch.end - stretch.begin);
      continue;
    }
    if (stretch.end == 0) {
      // What `tokenizers` puts in the place of an empty match belongs to no character, and later
      // steps trip over it.
      fail(ErrorKind::unsupported, "{}: an empty match at the start of a text", pattern_.name());
    }
    rewriter.skip(stretch.end - stretch.begin);
    for (size_t i = 0; i < content_.size();) {
      const Utf8Char c = decode_utf8(content_, i);
      rewriter.insert(c.code);
      i += c.size;
    }
  }
  std::swap(text, spare);
}

void Prepend::apply(AlignedText& text, AlignedText& spare) const {
  if (text.text().empty() || prefix_.empty()) return;
  Rewriter rewriter(text, spare);
  for (size_t i = 0; i < prefix_.size();) {
    const Utf8Char c = decode_utf8(prefix_, i);
    rewriter.put_ahead(c.code);
    i += c.size;
  }
  rewriter.keep(text.text().size());
  std::swap(text, spare);
}

void Precompiled::apply(AlignedText& text, AlignedText& spare) const {
  struct Step {
    char32_t code;
    int change;
  };
  thread_local std::vector<Step> steps;
  steps.clear();
  const std::string_view all = text.text();
  size_t done = 0;
  const auto keep_until = [&](size_t end) {
    while (done < end) {
      const Utf8Char c = decode_utf8(all, done);
      steps.push_back({c.code, 0});
      done += c.size;
    }
  };
  const bool changed =
      map_.normalize(all, [&](size_t begin, size_t end, std::string_view replacement) {
        keep_until(begin);
        const int old_count = static_cast<int>(count_code_points(all.substr(begin, end - begin)));
        int added = 0;
        for (size_t i = 0; i < replacement.size(); ++added) {
          const Utf8Char c = decode_utf8(replacement, i);
          steps.push_back({c.code, added < old_count ? 0 : 1});
          i += c.size;
        }
        // `tokenizers` charges characters that vanish to the step before, whatever that was, and
        // forgets them at the very start; offsets follow from that.
        if (added < old_count && !steps.empty()) steps.back().change += added - old_count;
        done = end;
      });
  if (!changed) return;
  keep_until(all.size());
  Rewriter rewriter(text, spare);
  for (const Step& step : steps) rewriter.step(step.code, step.change);
  std::swap(text, spare);
}

}  // namespace hone::text
