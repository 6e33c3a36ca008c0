#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/processor.h"
#include "data/tree_file.h"
#include "models/folder.h"
#include "models/load.h"
#include "models/model.h"
#include "models/save.h"
#include "train/corpus.h"

namespace hone::train {

/// Describes the folder that a model is saved as, before it is written.
struct ModelFiles {
  std::vector<data::TextFile> texts;  ///< config and processor
  models::ArrayFile weights;
};

/// The config that a model is made of from nothing.
struct NewConfig {
  Json json;
  std::string file;  ///< names it in errors
};
NewConfig new_config(const ModelOptions& options);

/// The model that a run trains, with its processor: from a folder, from a config, or the small
/// built-in one.
class TrainedModel {
 public:
  /// Reads config and processor alone: no weight is read, and no memory taken for it.
  TrainedModel(const Options& options, const Corpus& corpus);

  const models::ModelConfig& config() const { return model_->config(); }
  models::Model& model() { return *model_; }
  const models::Model& model() const { return *model_; }
  const data::Processor& processor() const { return *processor_; }
  /// Gives the processor of training samples, which may change them each time they come up.
  const data::Processor& training_processor() const {
    return training_processor_ ? *training_processor_ : *processor_;
  }
  /// Has training samples take the trees of their texts, and lose phrases as the options say.
  void set_trees(std::shared_ptr<const data::TreeBank> trees, const Options& options);
  /// Has a self-explaining model retrieve from the concepts of the folder that it came from.
  void open_concepts(ThreadPool& pool);
  /// Says how training samples are changed; not at all where samples are texts.
  const data::AugmentOptions& augmentation() const { return augmentation_; }
  /// Says, by slot, what training changes.
  const std::vector<bool>& trainable() const { return trainable_; }
  /// Says whether load() will make a head, or a part of one, that the folder does not have.
  bool has_new_head() const { return has_new_head_; }
  /// Says what the model is, for people and for checkpoints: the folder, the config, "built-in".
  const std::string& origin() const { return origin_; }

  /// load() fills the weights: those of the folder, and what it does not have by the seed. Its
  /// report names the tensors made new and the stored ones not used.
  struct Report {
    std::vector<std::string> fresh;
    std::vector<std::string> unused;
  };
  Report load(uint64_t seed, ThreadPool& pool);
  /// Fills the weights from a folder that save() wrote.
  void restore(const std::string& folder, ThreadPool& pool);
  /// Writes a complete Hugging Face folder: config, weights, tokenizer; for adapters PEFT's layout,
  /// with the folder of the weights that they belong to. `folder` is there already. Where
  /// `checkpoint` is not empty, it has these weights, and their file gets a second name instead of
  /// a second copy.
  void save(const std::string& folder, const std::string& checkpoint) const;
  /// Describes what save() writes. This must outlive it.
  ModelFiles files() const;

 private:
  models::LoadReport fill(const models::Adapter* adapter, std::optional<uint64_t> seed,
                          ThreadPool& pool);
  void check_exits() const;
  void open_folder(const Options& options, const Corpus& corpus);
  void open_config(const Options& options, const Corpus& corpus);
  void open_new(const models::Family& family, const Options& options, const Corpus& corpus);
  void open_built_in(const Options& options);
  void open_processor(const std::string& path, const Options& options);
  std::unique_ptr<data::Processor> processor_from(const std::string& path,
                                                  const Options& options) const;
  /// Makes the config that of what the run trains: a parser, a model that explains itself.
  void set_kind(const Options& options, const Corpus& corpus);
  void augment(const Options& options);
  void check_samples(const Corpus& corpus) const;

  std::string origin_;
  models::ModelFolder folder_;  ///< path is empty where the model has none
  std::optional<std::string> weights_from_;
  std::string processor_path_;
  std::unique_ptr<data::Processor> processor_;
  data::AugmentOptions augmentation_;
  std::unique_ptr<data::Processor> training_processor_;  ///< null where that is processor_
  std::unique_ptr<models::Model> model_;
  std::vector<bool> trainable_;
  bool has_new_head_ = false;
};

}  // namespace hone::train
