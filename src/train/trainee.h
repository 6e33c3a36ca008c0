#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/content_hash.h"
#include "models/encoder.h"
#include "models/folder.h"
#include "models/load.h"
#include "text/tokenizer.h"
#include "train/corpus.h"

namespace hone::train {

/// The model that a run trains, with its tokenizer: from a folder, from a config, or the small
/// built-in one.
class Trainee {
 public:
  /// Reads config and tokenizer alone: no weight is read, and no memory taken for it.
  Trainee(const Options& options, const Corpus& corpus);

  const models::EncoderConfig& config() const { return encoder_->config(); }
  models::Encoder& encoder() { return *encoder_; }
  const models::Encoder& encoder() const { return *encoder_; }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  const data::Hash128& tokenizer_hash() const { return tokenizer_hash_; }
  int64_t max_length() const { return max_length_; }
  bool from_scratch() const { return !weights_from_; }
  /// By slot, what training changes.
  const std::vector<bool>& trainable() const { return trainable_; }
  /// Whether load() will make a head, or a part of one, that the folder does not have.
  bool has_new_head() const { return has_new_head_; }
  /// What the model is, for people and for checkpoints: the folder, the config, "built-in".
  const std::string& origin() const { return origin_; }

  /// Fills the weights: those of the folder, and what it does not have by the seed. Gives the names
  /// of tensors made new and of stored ones not used.
  struct Report {
    std::vector<std::string> fresh;
    std::vector<std::string> unused;
  };
  Report load(uint64_t seed, ThreadPool& pool);
  /// Fills the weights from a folder that save() wrote.
  void restore(const std::string& folder, ThreadPool& pool);
  /// A complete Hugging Face folder: config, weights, tokenizer; of adapters PEFT's layout, with
  /// the folder of the weights that they belong to. `folder` is there already.
  void save(const std::string& folder) const;

 private:
  models::LoadReport fill(const models::Adapter* adapter, std::optional<uint64_t> seed,
                          ThreadPool& pool);
  void save_tokenizer(const std::string& folder) const;
  void check_exits() const;
  void open_folder(const Options& options);
  void open_config(const Options& options);
  void open_built_in();
  void open_tokenizer(const std::string& folder, const std::string& family);

  std::string origin_;
  models::ModelFolder folder_;  ///< path is empty where the model has none
  std::optional<std::string> weights_from_;
  std::string tokenizer_from_;  ///< folder; empty: built-in
  std::optional<text::Tokenizer> tokenizer_;
  data::Hash128 tokenizer_hash_{};
  int64_t max_length_ = 0;
  std::unique_ptr<models::Encoder> encoder_;
  std::vector<bool> trainable_;
  bool has_new_head_ = false;
};

}  // namespace hone::train
