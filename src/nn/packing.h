#pragma once

#include <memory>

#include "ops/dropout.h"
#include "plan/axes.h"

namespace hone::nn {

/// The axes of a packed batch of sequences.
inline constexpr Axis kTokens{1};     ///< all tokens
inline constexpr Axis kSequences{2};  ///< sequences
inline constexpr Axis kReads{3};      ///< token rows of the last layer that somebody reads
inline constexpr Axis kLongest{4};    ///< tokens of the longest sequence; no value has so many rows

/// Says how a packed batch's axes are rounded. Where `pads_sequences`, runs may be for more
/// sequences than the batch has, which give rows that nobody reads.
std::shared_ptr<const Axes> packed_axes(bool pads_sequences);

/// Says where a packed batch's sequences lie, and what a training run draws its dropout from.
struct Packing {
  Value offsets;       ///< int32, one more than sequences
  Value places;        ///< int32 [tokens, 1], place of a token within its sequence
  Value reads;         ///< int32 [reads, 1], the rows that are read of the last layer
  Value read_offsets;  ///< int32, one more than sequences
  Value read_places;   ///< int32 [reads, 1]
  Value random;        ///< int64 [1, 2], seed and step; in training alone
  Value samples;       ///< int64 [tokens, 1], the token's sample in the data; in training alone
  Value read_samples;  ///< int64 [reads, 1]; in training alone

  /// Describes the dropout of all tokens' rows, or of the read rows.
  ops::DropoutSite drop(float p, uint64_t site) const { return {p, site, random, samples, places}; }
  ops::DropoutSite drop_read(float p, uint64_t site) const {
    return {p, site, random, read_samples, read_places};
  }
};

}  // namespace hone::nn
