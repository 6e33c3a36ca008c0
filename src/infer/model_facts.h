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
  int64_t training_sequences = 0;                ///< 0 where it cannot be trained
  int64_t training_length = 0;
  /// The bytes of a step of that many sequences: fp32 weights, gradients, AdamW's two moments and
  /// activations.
  uint64_t training_bytes = 0;
};

/// Gives a model's facts; `dtype` is that of SessionOptions.
ModelFacts model_facts(const std::string& model, std::optional<DType> dtype, int threads);

}  // namespace hone::infer
