#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "models/model_config.h"

/// Folders whose weights are bytes. Each quantised tensor is stored as I8 under its usual name with
/// its scales beside it, F32 [rows], under that name and kScaleEnding; config.json says so:
///   "quantization_config": {"quant_method": "hone-int8", "kept": ["layer.3"], ...}
namespace hone::models {

inline constexpr const char* kScaleEnding = "_scale";
inline constexpr const char* kInt8Method = "hone-int8";
inline constexpr const char* kEmbeddingsPart = "embeddings";

/// Gives "layer.3" for the fourth distinct set of layer weights.
std::string layer_part(size_t layer);

/// Gives what goes into config.json; `measured` is an object of further fields, or null.
Json int8_entry(const std::vector<std::string>& kept, const Json& measured);
/// Reads config.json's quantization_config; another method than ours is an error.
Quantization read_quantization(const JsonFields& fields, const ModelConfig& config);

}  // namespace hone::models
