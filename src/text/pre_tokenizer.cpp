#include "text/pre_tokenizer.h"

#include "text/byte_level.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

uint32_t u32(size_t value) { return static_cast<uint32_t>(value); }

/// Calls `cut(word, begin of the word)` for each word, with memory.ranges for the new ones.
template <typename Cut>
void cut_each(Words& words, WordsMemory& memory, Cut&& cut) {
  memory.ranges.clear();
  for (const Span& range : words.ranges) {
    cut(words.text.text().substr(range.begin, range.end - range.begin), range.begin);
  }
  words.ranges.swap(memory.ranges);
}

void add_word(size_t begin, size_t end, std::vector<Span>& out) {
  if (begin != end) out.push_back({u32(begin), u32(end)});
}

/// Joins matched stretches to their neighbours.
void merge(const std::vector<Stretch>& stretches, SplitBehavior behavior, uint32_t origin,
           std::vector<Span>& out) {
  const size_t first = out.size();
  bool after_match = false;
  for (const Stretch& stretch : stretches) {
    const bool joins = behavior == SplitBehavior::contiguous ? stretch.match == after_match
                                                             : stretch.match && !after_match;
    if (joins && out.size() > first) {
      out.back().end = origin + stretch.end;
    } else {
      out.push_back({origin + stretch.begin, origin + stretch.end});
    }
    after_match = stretch.match;
  }
}

void merge_with_next(const std::vector<Stretch>& stretches, uint32_t origin,
                     std::vector<Span>& out) {
  for (size_t i = 0; i < stretches.size(); ++i) {
    // Only the last of several matches in a row belongs to what comes next.
    const bool joins = stretches[i].match && i + 1 < stretches.size() && !stretches[i + 1].match;
    out.push_back({origin + stretches[i].begin, origin + stretches[joins ? i + 1 : i].end});
    if (joins) ++i;
  }
}

void cut_by(const std::vector<Stretch>& stretches, SplitBehavior behavior, uint32_t origin,
            std::vector<Span>& out) {
  const size_t first = out.size();
  switch (behavior) {
    case SplitBehavior::removed:
    case SplitBehavior::isolated:
      for (const Stretch& stretch : stretches) {
        if (stretch.match && behavior == SplitBehavior::removed) continue;
        out.push_back({origin + stretch.begin, origin + stretch.end});
      }
      break;
    case SplitBehavior::contiguous:
    case SplitBehavior::merged_with_previous:
      merge(stretches, behavior, origin, out);
      break;
    case SplitBehavior::merged_with_next:
      merge_with_next(stretches, origin, out);
      break;
  }
  std::erase_if(out, [&, i = size_t{0}](const Span& span) mutable {
    return i++ >= first && span.begin == span.end;
  });
}

}  // namespace

void BertPreTokenizer::apply(Words& words, WordsMemory& memory) const {
  const Unicode& unicode = Unicode::tables();
  cut_each(words, memory, [&](std::string_view word, uint32_t origin) {
    size_t begin = 0;
    for (size_t at = 0; at < word.size();) {
      const Utf8Char c = decode_utf8(word, at);
      const uint16_t classes = unicode.classes(c.code);
      if (classes & (kWhitespace | kPunctuation)) {
        add_word(origin + begin, origin + at, memory.ranges);
        begin = at + c.size;
        if (!(classes & kWhitespace)) add_word(origin + at, origin + begin, memory.ranges);
      }
      at += c.size;
    }
    add_word(origin + begin, origin + word.size(), memory.ranges);
  });
}

void WordOrOther::apply(Words& words, WordsMemory& memory) const {
  const Unicode& unicode = Unicode::tables();
  cut_each(words, memory, [&](std::string_view word, uint32_t origin) {
    size_t begin = 0;
    uint16_t current = kWhitespace;  // class of the stretch that begins at `begin`
    for (size_t at = 0; at < word.size();) {
      const Utf8Char c = decode_utf8(word, at);
      const uint16_t kind = unicode.classes(c.code) & (kWhitespace | kWord);
      if (kind != current) {
        if (current != kWhitespace) add_word(origin + begin, origin + at, memory.ranges);
        begin = at;
        current = kind;
      }
      at += c.size;
    }
    if (current != kWhitespace) add_word(origin + begin, origin + word.size(), memory.ranges);
  });
}

void ClassSplit::apply(Words& words, WordsMemory& memory) const {
  const Unicode& unicode = Unicode::tables();
  cut_each(words, memory, [&](std::string_view word, uint32_t origin) {
    memory.stretches.clear();
    size_t begin = 0;
    for (size_t at = 0; at < word.size();) {
      const Utf8Char c = decode_utf8(word, at);
      if (unicode.is(c.code, classes_)) {
        if (begin < at) memory.stretches.push_back({u32(begin), u32(at), false});
        begin = at + c.size;
        memory.stretches.push_back({u32(at), u32(begin), true});
      }
      at += c.size;
    }
    if (begin < word.size()) memory.stretches.push_back({u32(begin), u32(word.size()), false});
    cut_by(memory.stretches, behavior_, origin, memory.ranges);
  });
}

void Split::apply(Words& words, WordsMemory& memory) const {
  cut_each(words, memory, [&](std::string_view word, uint32_t origin) {
    pattern_.find(word, memory.stretches);
    if (invert_) {
      for (Stretch& stretch : memory.stretches) stretch.match = !stretch.match;
    }
    cut_by(memory.stretches, behavior_, origin, memory.ranges);
  });
}

namespace {

/// Puts a space before every word that has none.
void add_prefix_spaces(Words& words, WordsMemory& memory) {
  bool any = false;
  for (const Span& range : words.ranges) {
    any = any || needs_prefix_space(words.text.text().substr(range.begin, range.end - range.begin));
  }
  if (!any) return;
  Rewriter rewriter(words.text, memory.text);
  for (Span& range : words.ranges) {
    const size_t size = range.end - range.begin;
    rewriter.skip(range.begin - rewriter.at());
    const size_t begin = rewriter.written();
    if (needs_prefix_space(words.text.text().substr(range.begin, size))) rewriter.put_ahead(U' ');
    rewriter.keep(size);
    range = {u32(begin), u32(rewriter.written())};
  }
  std::swap(words.text, memory.text);
}

/// Makes every byte its visible character.
void to_alphabet(Words& words, WordsMemory& memory) {
  const std::array<char32_t, 256>& alphabet = byte_level_alphabet();
  const std::string_view text = words.text.text();
  Rewriter rewriter(words.text, memory.text);
  for (Span& range : words.ranges) {
    rewriter.skip(range.begin - rewriter.at());
    const size_t begin = rewriter.written();
    while (rewriter.at() < range.end) {
      const size_t at = rewriter.at();
      const uint8_t size = decode_utf8(text, at).size;
      for (size_t i = 0; i < size; ++i) {
        rewriter.put_ahead(alphabet[static_cast<unsigned char>(text[at + i])]);
      }
      rewriter.drop();
    }
    range = {u32(begin), u32(rewriter.written())};
  }
  std::swap(words.text, memory.text);
}

}  // namespace

void ByteLevelPreTokenizer::apply(Words& words, WordsMemory& memory) const {
  if (add_prefix_space_) add_prefix_spaces(words, memory);
  if (use_regex_) {
    cut_each(words, memory, [&](std::string_view word, uint32_t origin) {
      ByteLevelSplitter splitter(word);
      for (std::string_view part = splitter.next(); !part.empty(); part = splitter.next()) {
        const size_t begin = origin + static_cast<size_t>(part.data() - word.data());
        memory.ranges.push_back({u32(begin), u32(begin + part.size())});
      }
    });
  }
  if (!raw_) to_alphabet(words, memory);
}

void MetaspacePreTokenizer::apply(Words& words, WordsMemory& memory) const {
  Rewriter rewriter(words.text, memory.text);
  memory.ranges.clear();
  for (const Span& range : words.ranges) {
    rewriter.skip(range.begin - rewriter.at());
    const size_t begin = rewriter.written();
    const bool at_start = words.text.source(range.begin).begin == 0;
    const std::string_view word = words.text.text().substr(range.begin, range.end - range.begin);
    metaspace_.rewrite(word, at_start, [&](size_t from, size_t to, std::string_view with) {
      rewriter.keep(range.begin + from - rewriter.at());
      rewriter.replace(to - from, with);
    });
    rewriter.keep(range.end - rewriter.at());
    memory.pairs.clear();
    metaspace_.cut(memory.text.text().substr(begin), memory.pairs);
    for (const auto& [from, to] : memory.pairs) add_word(begin + from, begin + to, memory.ranges);
  }
  std::swap(words.text, memory.text);
  words.ranges.swap(memory.ranges);
}

}  // namespace hone::text
