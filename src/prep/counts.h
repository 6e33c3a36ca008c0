#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "prep/dictionary.h"

namespace hone::prep {

/// How often words occur in the texts of a partition.
class WordCounts {
 public:
  explicit WordCounts(const Dictionary& dictionary)
      : dictionary_(dictionary), counts_(dictionary.words().size()) {}

  void add(std::span<const uint16_t> codes);
  /// Gives a file's bytes: words and counts in the order of the words.
  std::string bytes() const;

 private:
  const Dictionary& dictionary_;
  std::vector<uint64_t> counts_;
  WordMap<uint64_t> others_;
};

/// Adds up files of WordCounts and gives the `size` commonest words, commonest first; of two that
/// are as common the one that comes first by its bytes. Memory does not grow with the number of
/// words.
std::vector<std::string> commonest_words(const std::vector<std::string>& paths, size_t size);

/// Gives the bytes of vocabulary.txt, and the words of such bytes.
std::string vocabulary_text(const std::vector<std::string>& words);
std::vector<std::string> lines_of_text(std::string_view text);

}  // namespace hone::prep
