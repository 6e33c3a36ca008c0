#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/dtype.h"

namespace hone::models {

struct ConvertOptions {
  /// The dtype of every floating tensor. int8 is that of the embeddings and of the layers' matrices
  /// alone, beside fp32 for the rest (see models/int8.h). A folder stored in int8 is dequantised.
  DType dtype = DType::f32;
  std::vector<std::string> kept = {};  ///< parts in higher precision under int8, from int8_parts()
  Json measured = {};                  ///< goes into quantization_config under int8
  uint64_t max_shard_bytes = 0;        ///< 0: one file
  /// Where true, one packed file for this machine is written in place of safetensors (see
  /// packed_file.h), in fp32, bf16 or int8.
  bool stream = false;
};

struct Converted {
  int64_t tensors = 0;
  uint64_t bytes = 0;
};

/// Writes the model of `folder` (any container) as a complete Hugging Face folder with
/// safetensors weights in the asked dtype: config and tokenizer files come along, old norm names
/// (gamma, beta) become today's. The folder `to` must not exist or be empty, and appears complete
/// or not at all. A LoRA adapter's folder is written as its base with the adapter merged.
Converted convert_folder(const std::string& folder, const std::string& to,
                         const ConvertOptions& options);

}  // namespace hone::models
