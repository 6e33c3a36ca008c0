#pragma once

#include <algorithm>
#include <bit>
#include <memory>

#include "plan/axes.h"

/// The axes of the ops' tests: a packed batch of sequences, or of images.
namespace hone::ops {

inline constexpr Axis kTokens{1};
inline constexpr Axis kSequences{2};
inline constexpr Axis kReads{3};
inline constexpr Axis kLongest{4};
// A bucket leaves these as they are: images are whole.
inline constexpr Axis kInPixels{5};
inline constexpr Axis kOutPixels{6};
inline constexpr Axis kImageCount{7};
inline constexpr Axis kBounds{8};
inline constexpr Axis kCells{9};
inline constexpr Axis kPlaces{10};
inline constexpr Axis kNeighbours{11};  // A bucket has no more of them, since it has no more texts.

/// Rounds tokens, words' spans and phrases up, so that a GPU runs rows that are no batch's.
inline std::shared_ptr<const Axes> bucket_axes() {
  auto axes = std::make_shared<Axes>();
  axes->count(kTokens, "tokens", [](const Extents& batch, const Extents&) {
    const int64_t step = batch[kTokens] <= 32 ? 8 : 32;
    return (batch[kTokens] + step - 1) / step * step;
  });
  for (const Axis axis : {kBounds, kCells, kPlaces}) {
    axes->count(axis, "spans",
                [axis](const Extents& batch, const Extents&) { return batch[axis] + 3; });
  }
  axes->count(kLongest, "longest", [](const Extents& batch, const Extents& bucket) {
    const auto longest = static_cast<uint64_t>(std::max<int64_t>(32, batch[kLongest]));
    return std::min(static_cast<int64_t>(std::bit_ceil(longest)), bucket[kTokens]);
  });
  return axes;
}

}  // namespace hone::ops
