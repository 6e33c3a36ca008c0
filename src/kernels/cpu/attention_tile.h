#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/attention.h"

namespace hone::kernels {

/// Says how attention is cut into tiles, and where a worker keeps them. Sizes follow from the head
/// size alone, so that the order of a row's sums does too.
struct AttentionTiles {
  /// Queries a task; packing a tile of keys and values costs about as much as two rows of queries.
  static constexpr int64_t kQueries = 128;
  /// Most columns of a packed panel: two of the widest vectors.
  static constexpr int64_t kPanel = 32;
  /// Most rows of queries that are multiplied at once, in registers or by AMX's tiles.
  static constexpr int64_t kRows = 12;
  static constexpr int64_t kTileRows = 32;

  explicit AttentionTiles(int64_t head_size)
      : depth(head_size),
        padded_depth((head_size + kPanel - 1) / kPanel * kPanel),
        // Packed keys and values of a tile are 128 KB up to head size 64 and stay in L2; half and
        // twice as many keys time the same within 3% on Zen 4.
        keys(std::clamp<int64_t>(16384 / padded_depth / kPanel * kPanel, 2 * kPanel, 256)) {}

  int64_t depth;
  int64_t padded_depth;
  int64_t keys;  ///< keys a tile

  int64_t floats() const {
    return keys * depth + keys * padded_depth + kQueries * (depth + padded_depth + 2) +
           kTileRows * keys;
  }
};

/// c [rows, panel] = (or +=) a [rows, steps] times a packed panel [steps, panel].
using PanelProduct = void(const float* a, int64_t a_stride, const float* panel, int64_t steps,
                          float* c, int64_t c_stride);

/// One worker's scratch. The products may keep two bf16 in the place of one float of the keys,
/// values, queries and weights.
struct AttentionScratch {
  AttentionScratch(const AttentionTiles& tiles, float* base)
      : keys(base),
        values(keys + tiles.keys * tiles.depth),
        queries(values + tiles.keys * tiles.padded_depth),
        sums(queries + AttentionTiles::kQueries * tiles.depth),
        scores(sums + AttentionTiles::kQueries * tiles.padded_depth),
        largest(scores + AttentionTiles::kTileRows * tiles.keys),
        totals(largest + AttentionTiles::kQueries) {}

  float* keys;     ///< keys transposed: panels of [depth, panel]
  float* values;   ///< panels of [keys, panel], zeros beyond depth
  float* queries;  ///< [queries, depth]
  float* sums;     ///< [queries, padded_depth]: sums of e^(score - largest) * value
  float* scores;   ///< [rows, tile keys]
  float* largest;  ///< [queries]
  float* totals;   ///< [queries]: sums of e^(score - largest)
};

/// One head of some queries of one sequence: what a task does for each of its heads.
template <typename In, typename Out>
struct AttentionBlock {
  HeadRows<In> q;  ///< the block's first query
  HeadRows<In> k;  ///< the sequence's first key
  HeadRows<In> v;
  int64_t queries;
  int64_t keys;
  float scale;
  RelativePositions relative;
  int64_t first_position;  ///< position of the first query, where relative.q_positions is null
  Out* out;
  int64_t out_stride;
  float* log_sums;  ///< null, or that of the first query; the next lie log_sums_stride apart
  int64_t log_sums_stride;
  const Dropout* dropout;  ///< null: none
  int64_t row;             ///< row of the first query in the batch
  int64_t head;
};

}  // namespace hone::kernels
