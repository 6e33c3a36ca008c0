#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hone::text {

/// One token of a pre-token, with the bytes of the pre-token that it covers.
struct Piece {
  int32_t id;
  uint32_t begin;
  uint32_t end;
};

/// Turns pre-tokens into vocabulary ids: WordPiece, BPE, Unigram. It is immutable, and threads
/// share it; what a call needs to remember lives in the caller's Scratch.
class Model {
 public:
  /// A thread's working memory and caches for one model.
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  virtual ~Model() = default;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  /// Appends the pieces of `pretoken` (valid UTF-8, normalised; may be empty) to `out`.
  virtual void tokenize(std::string_view pretoken, Scratch& scratch,
                        std::vector<Piece>& out) const = 0;
  /// The id of exactly this token, or -1.
  virtual int32_t id_of(std::string_view token) const = 0;
  /// The token of an id; empty where there is none.
  virtual std::string_view token_of(int32_t id) const = 0;
  /// Number of entries of the vocabulary.
  virtual size_t size() const = 0;
};

}  // namespace hone::text
