#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "models/adapter.h"
#include "models/family.h"
#include "ops/pooling.h"

namespace hone::models {

/// Says how a sentence-transformers folder makes one vector of a text.
struct SentencePooling {
  ops::Pooling pooling = ops::Pooling::mean;
  bool normalize = false;
};

/// Holds what a Hugging Face or sentence-transformers folder says about its model, besides the
/// weights.
struct ModelFolder {
  std::string path;     ///< where config, weights and tokenizer lie; a bare state dict's file
  std::string adapter;  ///< the folder of a LoRA adapter for those weights; empty: none
  Json config_json;
  std::shared_ptr<ModelConfig> config;
  std::optional<SentencePooling> sentence;
  std::optional<int64_t> sentence_length;  ///< sentence-transformers' max_seq_length

  /// Gives the folder that was trained: an adapter's own, where there is one.
  const std::string& trained() const { return adapter.empty() ? path : adapter; }
};

/// Opens a model folder. A state dict without a config.json, alone in its folder or named itself,
/// is told by its tensors: `path` is then that file. A folder of a LoRA adapter in PEFT's layout
/// stands for its base with the adapter; the labels, and whether the model explains itself, are
/// those of a config.json beside the adapter; without one there are as many labels as its head has.
/// A module of a sentence-transformers folder that is not supported is an error that names it.
ModelFolder open_model_folder(const std::string& path);

/// Says whether the model is a bare state dict, whose config.json was made up.
bool is_bare(const ModelFolder& folder);

/// Says what a model reads, by its config alone. `model` is a folder or a name in the local cache.
data::SampleKind samples_of(const std::string& model);

/// Opens the folder's adapter; null where it has none.
std::unique_ptr<Adapter> open_adapter(const ModelFolder& folder);

}  // namespace hone::models
