#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "prep/dictionary.h"
#include "text/tokenizer.h"

namespace hone::prep {

/// Makes ids of cleaned texts. One thread uses it at a time.
class IdMaker {
 public:
  virtual ~IdMaker() = default;
  /// Fills `ids` from its begin on with the first ids of a text, as many as there is room for;
  /// gives how many.
  virtual size_t make(std::span<const uint16_t> codes, std::span<int32_t> ids) = 0;
};

/// The ids of a vocabulary's words, for the codes of a dictionary: 2 and more, in the order of the
/// words; 1 for every other word.
class VocabularyIndex {
 public:
  VocabularyIndex(const std::vector<std::string>& words, const Dictionary& dictionary);
  /// Makes an IdMaker, which must not outlive this.
  std::unique_ptr<IdMaker> maker() const;

 private:
  friend class VocabularyIds;
  std::vector<int32_t> by_code_;
  WordMap<int32_t> by_word_;  ///< the words that the dictionary does not have
};

/// Makes ids by a tokenizer, special tokens included. Neither may die before the maker.
std::unique_ptr<IdMaker> tokenizer_ids(const text::Tokenizer& tokenizer,
                                       const Dictionary& dictionary);

}  // namespace hone::prep
