#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/aligned_text.h"
#include "text/charsmap.h"
#include "text/regex.h"

namespace hone::text {

/// Changes a text before it is cut into words. It is immutable; `spare` is working memory.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text, AlignedText& spare) const = 0;
};

class BertNormalizer : public Normalizer {
 public:
  struct Options {
    bool clean_text = true;
    bool handle_chinese_chars = true;
    bool strip_accents = true;
    bool lowercase = true;
  };
  explicit BertNormalizer(Options options) : options_(options) {}
  void apply(AlignedText& text, AlignedText& spare) const override;
  const Options& options() const { return options_; }

 private:
  Options options_;
};

/// Normalizes to NFD, NFKD, NFC or NFKC.
class UnicodeNormalizer : public Normalizer {
 public:
  UnicodeNormalizer(bool compat, bool compose) : compat_(compat), compose_(compose) {}
  void apply(AlignedText& text, AlignedText& spare) const override;

 private:
  bool compat_;
  bool compose_;
};

class Lowercase : public Normalizer {
 public:
  void apply(AlignedText& text, AlignedText& spare) const override;
};

/// Leaves out code points of a class (StripAccents: marks), and makes those of another spaces
/// (Nmt).
class Filter : public Normalizer {
 public:
  Filter(uint16_t dropped, uint16_t spaced) : dropped_(dropped), spaced_(spaced) {}
  void apply(AlignedText& text, AlignedText& spare) const override;

 private:
  uint16_t dropped_;
  uint16_t spaced_;
};

/// Strips whitespace at the ends of a text (Strip).
class StripEnds : public Normalizer {
 public:
  StripEnds(bool left, bool right) : left_(left), right_(right) {}
  void apply(AlignedText& text, AlignedText& spare) const override;

 private:
  bool left_;
  bool right_;
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(AlignedText& text, AlignedText& spare) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(AlignedText& text, AlignedText& spare) const override;

 private:
  std::string prefix_;
};

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(CharsMap map) : map_(std::move(map)) {}
  void apply(AlignedText& text, AlignedText& spare) const override;

 private:
  CharsMap map_;
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> parts)
      : parts_(std::move(parts)) {}
  void apply(AlignedText& text, AlignedText& spare) const override {
    for (const auto& part : parts_) part->apply(text, spare);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

}  // namespace hone::text
