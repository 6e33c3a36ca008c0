#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizer_parts.h"
#include "text/vocab_table.h"

/// Whole words as tokens: a text is lower-cased, its words are runs of letters and apostrophes, and
/// stop words are left out.
namespace hone::text {

inline constexpr const char* kVocabularyFile = "vocabulary.txt";
/// The ids of words: those of vocabulary.txt follow in its order.
inline constexpr int32_t kPadWord = 0;
inline constexpr int32_t kUnknownWord = 1;
inline constexpr int32_t kFirstWord = 2;

/// Cuts a text in lower case into its words. Apostrophes at a word's ends do not belong to it.
class CleanWords : public PreTokenizer {
 public:
  explicit CleanWords(bool keep_stop_words = false) : keep_stop_words_(keep_stop_words) {}
  void apply(Words& words, WordsMemory& memory) const override;

 private:
  const bool keep_stop_words_;
};

/// Gives each word its place in the vocabulary, or kUnknownWord.
class WordLevel : public Model {
 public:
  /// `file` names the source in errors; a word that comes twice is one.
  WordLevel(const std::vector<std::string>& words, const std::string& file);

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  void tokenize(std::string_view pretoken, Scratch& scratch,
                std::vector<Piece>& out) const override;
  int32_t id_of(std::string_view token) const override { return vocab_.id_of(token); }
  std::string_view token_of(int32_t id) const override { return vocab_.token_of(id); }
  size_t size() const override { return vocab_.size(); }

 private:
  VocabTable vocab_;
};

/// Makes a tokenizer of words from the text of a vocabulary.txt, a word a line, the commonest
/// first; `file` names it in errors. Stop words are read where some are in the vocabulary.
TokenizerParts build_word_tokenizer(std::string_view vocabulary, const std::string& file);

/// Counts the words of texts.
class WordCounter {
 public:
  WordCounter();
  /// Adds a text's words. Bytes that are not UTF-8 are read as U+FFFD.
  void add(std::string_view text);
  /// Gives the commonest words, at most `count`; of equally common ones the first by their bytes.
  std::vector<std::string> commonest(size_t count) const;

 private:
  std::unordered_map<std::string, int64_t> counts_;
  std::unique_ptr<Normalizer> normalizer_;
  AlignedText spare_;
  Words words_;
  WordsMemory memory_;
  std::string word_;
};

}  // namespace hone::text
