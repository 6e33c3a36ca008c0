#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/content_hash.h"
#include "data/splits.h"
#include "text/tokenizer.h"

namespace hone {
class ThreadPool;
}

namespace hone::data {

/// The tokenised samples of a split, in one file beside the output. Only offsets and labels are
/// held in memory (16 bytes a sample, more with flags); ids are read by position.
///
/// The file, little-endian: "HONETOKS", a version (u32), the label kind (u32), the key (16 bytes);
/// for each sample its ids (i32) and its type ids (u8); lengths (i32 each); labels (class i32,
/// score f32, or a byte a flag); a footer of samples, tokens, cut samples and labels (u64 each)
/// and the hash of all before it (16 bytes).
class TokenStore {
 public:
  /// The store at `path`, if it is whole and made with `key`; otherwise nothing, and `why` says
  /// what is wrong with it. All of the file is read and its hash compared; every number in it is
  /// checked before it is used.
  static std::optional<TokenStore> open(const std::string& path, const Hash128& key,
                                        std::string& why);

  int64_t samples() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t tokens() const { return tokens_; }
  /// Samples that were cut to the longest length.
  int64_t truncated() const { return truncated_; }
  std::span<const int32_t> lengths() const { return lengths_; }

  LabelKind label_kind() const { return kind_; }
  int64_t class_of(int64_t sample) const;
  /// How many values targets_of() writes: 1 for a score, one a flag, otherwise 0.
  int64_t target_width() const;
  /// The score, or the flags as 0 and 1.
  void targets_of(int64_t sample, float* out) const;
  /// Samples of each class, or with each flag; empty for scores.
  std::vector<int64_t> label_counts() const;

  /// The sample's ids and type ids, lengths()[sample] of each, through a buffer that grows as
  /// needed. Safe from several threads. A file that shrinks meanwhile is an error.
  void read(int64_t sample, int32_t* ids, int32_t* types, std::vector<char>& buffer) const;

 private:
  explicit TokenStore(InputFile file) : file_(std::move(file)) {}
  void check_header(const Hash128& key);
  void read_footer();
  void check_hash() const;
  void read_tables();
  [[noreturn]] void damaged(std::string_view field, std::string_view problem) const;

  InputFile file_;
  LabelKind kind_ = LabelKind::none;
  int64_t label_count_ = 0;
  int64_t tokens_ = 0;
  int64_t truncated_ = 0;
  std::vector<int32_t> lengths_;
  std::vector<int64_t> begins_;  ///< the tokens before each sample
  std::vector<char> labels_;     ///< as in the file
};

/// What a store is made from, and so what its key says.
struct TokenStoreRecipe {
  const text::Tokenizer& tokenizer;
  Hash128 tokenizer_hash;  ///< of the tokenizer's files or text; see hash_tokenizer
  text::EncodeOptions encode;
  LabelSet labels;                       ///< the model's; their order gives the ids
  std::vector<std::string> task_labels;  ///< the data's own, as for LabelMap; none for own files
  int64_t max_samples = -1;              ///< -1: all
};

/// The store at `path`, made anew from `split`; nothing appears there before it is complete. Bad
/// labels and samples without tokens are errors that name their place.
void build_store(const std::string& path, const Hash128& key, const Split& split,
                 const TokenStoreRecipe& recipe, ThreadPool& pool);

/// Of all that decides a store's contents: the bytes of the split's files, tokenizer, settings.
Hash128 store_key(const Split& split, const TokenStoreRecipe& recipe);

struct OpenedStore {
  TokenStore store;
  Hash128 key;          ///< see store_key
  std::string rebuilt;  ///< why it was built; empty where the file was used as it was
};

/// Opens the store at `path`; one that is missing, stale or damaged is built first. A split without
/// samples is an error.
OpenedStore open_or_build_store(const std::string& path, const Split& split,
                                const TokenStoreRecipe& recipe, ThreadPool& pool);

/// Of a tokenizer's files: `path` as in Tokenizer::load.
Hash128 hash_tokenizer(const std::string& path);

}  // namespace hone::data
