#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "explain/explanation.h"
#include "trees/words.h"

namespace hone::infer {

/// A text in words, some of which can be deleted.
class DeletableText {
 public:
  /// The text is valid UTF-8.
  explicit DeletableText(std::string text);

  size_t size() const { return words_.size(); }
  /// Ranks the words by the best value of a phrase that contains them, the best first; words in no
  /// phrase come last. `values` has one for each phrase.
  std::vector<size_t> ranked(const std::vector<explain::Phrase>& phrases,
                             const std::vector<double>& values) const;
  /// Says of each word whether it is in the phrase.
  std::vector<bool> words_of(const explain::Phrase& phrase) const;
  /// Gives the text of the words that are kept, with the spaces before them.
  std::string kept(const std::vector<bool>& kept) const;

 private:
  std::string text_;
  std::vector<size_t> bytes_;  ///< where each code point begins, and the end
  std::vector<trees::WordPlace> words_;
};

}  // namespace hone::infer
