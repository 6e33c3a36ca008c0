#pragma once

#include "kernels/cpu/attention_backward.h"
#include "kernels/cpu/attention_tile.h"

namespace hone::kernels {

/// Says how the backward pass is cut: tiles of keys as in the forward pass, blocks of queries
/// within.
struct BackwardTiles : AttentionTiles {
  /// The block is even. Probabilities and their gradients of a block, 64 KB each at 128 keys, share
  /// L2 with the tile.
  static constexpr int64_t kBlock = 128;

  using AttentionTiles::AttentionTiles;

  /// Gives the stride of rows of scores: not a power of two, or columns would share few lines of
  /// L1.
  int64_t score_stride() const { return keys + 16; }
  int64_t floats(int64_t queries) const {
    return keys * (2 * depth + 3 * padded_depth) + kBlock * (2 * depth + 2 * padded_depth) +
           (2 * kBlock + kRows) * score_stride() + kBlock + queries * padded_depth;
  }
};

/// One worker's scratch. The products may keep two bf16 in the place of one float, but for the
/// sums.
struct BackwardScratch {
  BackwardScratch(const BackwardTiles& tiles, float* base)
      : key_panels(base),
        value_panels(key_panels + tiles.keys * tiles.depth),
        keys(value_panels + tiles.keys * tiles.depth),
        dk(keys + tiles.keys * tiles.padded_depth),
        dv(dk + tiles.keys * tiles.padded_depth),
        q(dv + tiles.keys * tiles.padded_depth),
        dout(q + BackwardTiles::kBlock * tiles.depth),
        q_panels(dout + BackwardTiles::kBlock * tiles.depth),
        dout_panels(q_panels + BackwardTiles::kBlock * tiles.padded_depth),
        weights(dout_panels + BackwardTiles::kBlock * tiles.padded_depth),
        dscores(weights + BackwardTiles::kBlock * tiles.score_stride()),
        strip(dscores + BackwardTiles::kBlock * tiles.score_stride()),
        means(strip + BackwardTiles::kRows * tiles.score_stride()),
        dq(means + BackwardTiles::kBlock) {}

  float* key_panels;    ///< keys transposed: panels of [depth, panel]
  float* value_panels;  ///< values transposed: panels of [depth, panel]
  float* keys;          ///< panels of [tile keys, panel], zeros beyond depth
  float* dk;            ///< [tile keys, padded_depth]
  float* dv;
  float* q;            ///< [block, depth]
  float* dout;         ///< [block, depth]
  float* q_panels;     ///< panels of [block, panel]
  float* dout_panels;  ///< panels of [block, panel] of dout
  float* weights;      ///< [block, score_stride]: probabilities, dropped and scaled
  float* dscores;      ///< [block, score_stride]: gradients of their products q . k
  float* strip;        ///< [rows, score_stride]: a few rows' dscores as the products take them
  float* means;        ///< [block]: dout . out
  float* dq;           ///< [all queries of the sequence, padded_depth]
};

/// A task is one head of one sequence.
template <typename T>
struct BackwardTask {
  const AttentionShape* shape;
  const AttentionBackward<T>* args;
  int64_t head;
  int64_t first_query, queries;  ///< rows of the batch
  int64_t first_key, keys;

  HeadRows<T> rows(HeadRows<T> of, int64_t row) const {
    return {of.data + row * of.stride + head * shape->head_size, of.stride};
  }
  HeadRows<T> dense(const T* of, int64_t row) const {
    return rows({of, shape->heads * shape->head_size}, row);
  }
  T* gradient(HeadGradients<T> of, int64_t row) const {
    return of.data + row * of.stride + head * shape->head_size;
  }
  float log_sum(int64_t row) const { return args->log_sums[row * shape->heads + head]; }
  /// Gives the place of a query row in its sequence.
  int64_t place(int64_t row) const {
    return args->relative.q_positions ? args->relative.q_positions[row] : row - first_query;
  }
};

}  // namespace hone::kernels
