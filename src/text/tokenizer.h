#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "text/encoding.h"

namespace hone {
class ThreadPool;
}

namespace hone::text {

struct TokenizerParts;

/// Lists all that Tokenizer::load may read of a folder.
inline constexpr std::array kTokenizerFiles = {"tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "vocab.txt",
                                               "vocabulary.txt",
                                               "vocab.json",
                                               "merges.txt",
                                               "spiece.model",
                                               "sentencepiece.bpe.model"};

struct EncodeOptions {
  bool add_special_tokens = true;
  /// Where it is absent nothing is cut, whatever the file says (Tokenizer::truncation()).
  std::optional<Truncation> truncation;
};

/// A text, or a pair of texts. Bytes that are not UTF-8 are read as U+FFFD.
struct TextInput {
  std::string_view text;
  std::optional<std::string_view> pair;
  /// Ids of a text that was tokenised before, special ones included; where there are some, they
  /// count, and the text does not.
  std::span<const int32_t> ids = {};
};

/// Text to ids as Hugging Face `tokenizers` does it: ids, type ids, offsets and tokens are equal.
/// It is immutable; threads share it.
class Tokenizer {
 public:
  /// A thread's buffers and caches; encoding allocates nothing once they have grown.
  class Workspace {
   public:
    explicit Workspace(const Tokenizer& tokenizer);
    Workspace(Workspace&&) noexcept;
    Workspace& operator=(Workspace&&) noexcept;
    ~Workspace();

   private:
    friend class Tokenizer;
    struct Memory;
    std::unique_ptr<Memory> memory_;
  };

  /// `path` is a folder or a tokenizer.json. A folder without a tokenizer.json is read from
  /// vocab.txt, vocab.json and merges.txt, a SentencePiece model, or words, with the defaults of
  /// `family` (a config's model_type: bert, distilbert, electra, roberta, xlm-roberta, albert,
  /// lstm); an empty one is guessed from the files.
  static Tokenizer load(const std::string& path, std::string_view family = {});
  /// Makes a tokenizer from the text of a tokenizer.json; `file` names it in errors.
  static Tokenizer parse(std::string_view json, const std::string& file);

  explicit Tokenizer(TokenizerParts parts);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  void encode(const TextInput& input, const EncodeOptions& options, Workspace& workspace,
              Encoding& out) const;
  Encoding encode(const TextInput& input, const EncodeOptions& options = {}) const;
  /// out[i] is the encoding of inputs[i]; `out` is resized, its elements' memory reused.
  void encode_batch(std::span<const TextInput> inputs, const EncodeOptions& options,
                    ThreadPool& pool, std::vector<Encoding>& out) const;
  /// A TakeEncoding is called as take(i, encoding of inputs[i]) for every input, in any order and
  /// by several threads of the pool at one time. The encoding dies with the call.
  using TakeEncoding = FunctionRef<void(size_t i, const Encoding& encoding)>;
  void encode_each(std::span<const TextInput> inputs, const EncodeOptions& options,
                   ThreadPool& pool, TakeEncoding take) const;

  /// The i-th token as `tokenizers` spells it.
  std::string token(const Encoding& encoding, size_t i) const;
  /// The vocabulary's spelling of an id; empty where there is none.
  std::string_view token_of(int32_t id) const;
  /// The text of ids, as `tokenizers` makes it: ids that the vocabulary does not have are left out,
  /// and special tokens too where `skip_special_tokens`. A decoder that hone does not know is an
  /// error (unsupported) that names it.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;
  /// The id of exactly this token, or -1.
  int32_t id_of(std::string_view token) const;
  /// Gives one more than the highest id.
  int32_t id_end() const;
  /// Special tokens added to one text or to a pair.
  size_t special_tokens(bool is_pair) const;

  /// Gives what tokenizer.json says of truncation; its padding is ignored.
  const std::optional<Truncation>& truncation() const;
  /// model_max_length of tokenizer_config.json, where it is a length (the value that stands for
  /// "none" is left out).
  std::optional<int64_t> model_max_length() const;

 private:
  struct State;
  using EncodePart = FunctionRef<void(size_t first, size_t last, Workspace& workspace)>;
  /// Cuts [0, count) into parts that the pool's threads encode.
  void in_parts(size_t count, ThreadPool& pool, EncodePart encode_part) const;
  Workspace take_workspace() const;
  void return_workspace(Workspace workspace) const;
  std::unique_ptr<const State> state_;
};

}  // namespace hone::text
