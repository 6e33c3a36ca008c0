#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/aligned_text.h"
#include "text/metaspace.h"
#include "text/regex.h"

namespace hone::text {

/// A text and the ranges of its bytes that are words, in order. What lies between is left out.
struct Words {
  AlignedText text;
  std::vector<Span> ranges;
};

/// Working memory of pre-tokenizers.
struct WordsMemory {
  AlignedText text;
  std::vector<Span> ranges;
  std::vector<Stretch> stretches;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
};

/// Cuts words into smaller ones, and may rewrite them. It is immutable.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Words& words, WordsMemory& memory) const = 0;
};

/// Drops whitespace and makes every punctuation character a word.
class BertPreTokenizer : public PreTokenizer {
 public:
  void apply(Words& words, WordsMemory& memory) const override;
};

/// Cuts by Whitespace's expression, \w+|[^\w\s]+.
class WordOrOther : public PreTokenizer {
 public:
  void apply(Words& words, WordsMemory& memory) const override;
};

/// Says what becomes of the places where a text is cut.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Cuts at single characters of a class: WhitespaceSplit, Punctuation, Digits.
class ClassSplit : public PreTokenizer {
 public:
  ClassSplit(uint16_t classes, SplitBehavior behavior) : classes_(classes), behavior_(behavior) {}
  void apply(Words& words, WordsMemory& memory) const override;

 private:
  uint16_t classes_;
  SplitBehavior behavior_;
};

/// Cuts where a pattern matches; an inverted one, where it does not.
class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(Words& words, WordsMemory& memory) const override;

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}
  void apply(Words& words, WordsMemory& memory) const override;
  /// Leaves the bytes as they are, for a model that takes them raw (Bpe::tokenize_bytes).
  void leave_raw() { raw_ = true; }

 private:
  bool add_prefix_space_;
  bool use_regex_;
  bool raw_ = false;
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(Metaspace metaspace) : metaspace_(std::move(metaspace)) {}
  void apply(Words& words, WordsMemory& memory) const override;

 private:
  Metaspace metaspace_;
};

}  // namespace hone::text
