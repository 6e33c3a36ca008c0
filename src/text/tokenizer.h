#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"

namespace hone {
class ThreadPool;
}

namespace hone::text {

struct TokenizerParts;

/// All that Tokenizer::load may read of a folder.
inline constexpr std::array kTokenizerFiles = {"tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "vocab.txt",
                                               "vocab.json",
                                               "merges.txt",
                                               "spiece.model",
                                               "sentencepiece.bpe.model"};

struct EncodeOptions {
  bool add_special_tokens = true;
  /// None: nothing is cut, whatever the file says (Tokenizer::truncation()).
  std::optional<Truncation> truncation;
};

/// A text, or a pair of texts. Bytes that are not UTF-8 are read as U+FFFD.
struct TextInput {
  std::string_view text;
  std::optional<std::string_view> pair;
};

/// Text to ids as Hugging Face `tokenizers` does it: ids, type ids, offsets and tokens are equal.
/// Immutable and shared by threads.
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
  /// vocab.txt, vocab.json and merges.txt, or a SentencePiece model, with the defaults of
  /// `family` (a config's model_type: bert, distilbert, roberta, xlm-roberta, albert); an empty
  /// one is guessed from the files.
  static Tokenizer load(const std::string& path, std::string_view family = {});
  /// From the text of a tokenizer.json; `file` names it in errors.
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

  /// The i-th token as `tokenizers` spells it.
  std::string token(const Encoding& encoding, size_t i) const;
  /// The vocabulary's spelling of an id; empty where there is none.
  std::string_view token_of(int32_t id) const;
  /// The id of exactly this token, or -1.
  int32_t id_of(std::string_view token) const;
  /// One more than the highest id.
  int32_t id_end() const;
  /// Special tokens added to one text or to a pair.
  size_t special_tokens(bool is_pair) const;

  /// What tokenizer.json says of truncation; its padding is ignored.
  const std::optional<Truncation>& truncation() const;
  /// model_max_length of tokenizer_config.json, where it is a length (the value that stands for
  /// "none" is left out).
  std::optional<int64_t> model_max_length() const;

 private:
  struct State;
  Workspace take_workspace() const;
  void return_workspace(Workspace workspace) const;
  std::unique_ptr<const State> state_;
};

}  // namespace hone::text
