#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace hone::nn {

/// Low-rank adapters (LoRA, Hu et al., 2021): a linear layer's W x + bias gets
/// alpha / rank * B (A drop(x)) added, with A [rank, in] and B [out, rank].
struct LoraOptions {
  int64_t rank = 8;
  double alpha = 8;
  double dropout = 0;
  /// The targets have PEFT's names: a layer's whole name or the end of it behind a dot ("query");
  /// "all-linear" alone is every layer but the head's; none are the family's queries and values.
  std::vector<std::string> targets = {};

  float scale() const { return static_cast<float>(alpha / static_cast<double>(rank)); }
};

/// Holds what a model tells its linear layers while they are built.
struct LoraTargets {
  LoraOptions options;
  std::function<bool(const std::string& module)> matches;
};

/// One adapter, beside `rows of b` outputs of a layer from `column` on.
struct Lora {
  Weight a;
  Weight b;
  int64_t column;
};

inline constexpr const char* kLoraA = ".lora_A.weight";  ///< ends a module's name
inline constexpr const char* kLoraB = ".lora_B.weight";
inline bool is_lora(const std::string& tensor) {
  return tensor.ends_with(kLoraA) || tensor.ends_with(kLoraB);
}

/// Numbers the dropout of adapters, apart from that of the layers. `place` is within a layer.
inline uint64_t lora_site(uint64_t depth, uint64_t place) {
  return (uint64_t{1} << 32) + 8 * depth + place;
}

}  // namespace hone::nn
