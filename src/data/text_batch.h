#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "data/batch.h"

/// Batches of token sequences.
namespace hone::data {

/// The inputs of a text batch, in the order of its layout.
enum TextInputs : size_t {
  kIds,          ///< int32 [tokens]
  kTypes,        ///< int32 [tokens]
  kPositions,    ///< int32 [tokens], rows of a table of positions
  kOffsets,      ///< offsets of tokens
  kPlaces,       ///< int32 [tokens], place of a token within its sequence
  kReads,        ///< int32 [reads], the rows of the last layer that are read: one a sequence
  kReadOffsets,  ///< offsets of reads
  kReadPlaces,   ///< int32 [reads]
  kSamples,      ///< int64 [tokens], number of the token's sample in the data
  kReadSamples,  ///< int64 [reads]
};

std::shared_ptr<const BatchLayout> text_layout();

/// The limits of what a model takes as a sequence of tokens.
struct TextLimits {
  int64_t max_tokens = 0;
  int64_t vocabulary = 0;
  int64_t types = 0;  ///< 0: the model has no type embeddings, and takes any
  int64_t pad_id = 0;
  /// Where true, positions count from pad_id + 1, and pad tokens have pad_id's.
  bool positions_skip_pad = false;
  bool reads_last = false;  ///< the row that is read is a sequence's last, not its first
  bool pads = false;        ///< texts are filled up with pad_id to the length that they are cut to
};

/// Appends one sequence. It must not be empty nor longer than the limits say; an id or type out of
/// range is an error that names it. `types` may be empty: all 0. In a layout with more axes than
/// text_layout()'s there is room for `more` rows of each, which the caller fills in.
void append_tokens(const TextLimits& limits, std::span<const int32_t> ids,
                   std::span<const int32_t> types, int64_t sample, Batch& batch,
                   std::span<const int64_t> more = {});

}  // namespace hone::data
