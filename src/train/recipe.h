#pragma once

#include <cstdint>
#include <optional>

#include "train/options.h"

namespace hone::train {

/// Cuts a model into segments of one layer each, for TrainingOptions::checkpoint_segments.
inline constexpr int64_t kEveryLayer = 1024;

/// The part of a recipe that may be left open: what is trained decides then.
struct Recipe {
  std::optional<double> learning_rate;  ///< absent: 5e-5, or 3e-4 of a new model
  std::optional<double> epochs;         ///< absent: 3, or 4 of the built-in model
  /// Absent: 8, or 32 of a new model; where tokens limit a batch, its samples are not limited.
  std::optional<int64_t> batch_size;
};

/// Puts a recipe into the options, whose model and limit of tokens are set. The built-in model is
/// warmed up where the options do not say how.
void apply(const Recipe& recipe, Options& options);

}  // namespace hone::train
