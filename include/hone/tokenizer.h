#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hone/error.h"
#include "hone/text.h"

namespace hone {

/// A tokenizer without its model. Any number of threads may call its functions at one time.
class Tokenizer {
 public:
  /// `path` is a model folder, a name in the local cache, a tokenizer.json or its folder.
  static Tokenizer load(const std::string& path);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Gives the tokens of a text, of which nothing is cut; special ones such as [CLS] included,
  /// unless `special_tokens` is false.
  Tokens tokenize(const Text& text, bool special_tokens = true) const;
  /// Gives the text of ids. Ids that the vocabulary does not have are left out.
  std::string decode(const std::vector<int32_t>& ids, bool skip_special_tokens = true) const;
  /// Gives one more than the highest id.
  int32_t vocabulary_size() const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace hone
