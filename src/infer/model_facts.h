#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "models/folder.h"
#include "tensor/dtype.h"

namespace hone::infer {

/// The facts of a model that are known without loading its weights.
struct ModelFacts {
  models::ModelFolder folder;
  bool has_head = false;
  DType dtype = DType::f32;                      ///< dtype of the products
  int64_t parameters = 0;                        ///< number of weights; shared ones count once
  bool packed = false;                           ///< stored to be streamed; cannot be trained
  std::map<std::string, uint64_t> stored_bytes;  ///< bytes of its files, by dtype
  uint64_t packed_bytes = 0;                     ///< bytes of the weights in memory
  int64_t max_length = 0;                        ///< tokens that have a position, or pixels
  uint64_t forward_bytes = 0;                    ///< weights and activations, 1 x max_length
  // What hone allocates for a batch of `samples` times `length`.
  int64_t samples = 0;
  int64_t length = 0;
  uint64_t predict_bytes = 0;  ///< weights and activations of a forward pass
  /// fp32 weights, their copies in the products' dtype, gradients, AdamW's two moments and
  /// activations of a step; 0 where it cannot be trained.
  uint64_t train_bytes = 0;
};

struct FactsOptions {
  std::optional<DType> dtype = {};  ///< the dtype of products, as in SessionOptions
  int threads = 0;
  bool gpu = false;
  int64_t samples = 8;   ///< Trainer's default batch
  int64_t length = 128;  ///< run_glue's default length; more than the model reads counts as that
};

ModelFacts model_facts(const std::string& model, const FactsOptions& options);

/// Says how much memory the processor's forward pass needs, and how much less is free; empty where
/// it fits.
std::string missing_memory(const std::string& model, const FactsOptions& options);

}  // namespace hone::infer
