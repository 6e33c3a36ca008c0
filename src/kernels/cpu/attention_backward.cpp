#include "kernels/cpu/attention_backward.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention_backward-inl.h"
#include "kernels/cpu/attention_backward_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Packs `count` rows, transposed, to panels [depth, kPanel].
template <class Products, typename T>
HWY_INLINE void PackTransposed(HeadRows<T> rows, int64_t count, int64_t depth, float* panels) {
  for (int64_t j = 0; j < count; j += kPanel) {
    Products::PackKeyPanel(rows.data + j * rows.stride, rows.stride, std::min(kPanel, count - j),
                           depth, panels + j * (depth / Products::kTogether));
  }
}

/// Computes scores [rows, score_stride] = a [rows, depth] times the packed keys or values of a
/// tile.
template <class Products>
HWY_INLINE void MultiplyTile(const BackwardTiles& tiles, const float* a, int64_t rows,
                             const float* panels, int64_t count, float* scores) {
  const int64_t steps = tiles.depth / Products::kTogether;
  for (int64_t j = 0; j < count; j += kPanel) {
    Products::Product(rows, count - j, false)(a, steps, panels + j * steps, steps, scores + j,
                                              tiles.score_stride());
  }
}

/// Adds the share of relative positions to dq of one row and to dk of the tile.
template <typename T>
void AddRelativeGradients(const BackwardTask<T>& task, int64_t row, int64_t first, int64_t count,
                          const BackwardTiles& tiles, const float* dscores, float* dq, float* dk) {
  const RelativePositions& relative = task.args->relative;
  for (int64_t j = 0; j < count; ++j) {
    const int64_t distance = task.place(row) - (first + j) + relative.positions - 1;
    const float* embedding = relative.distances + distance * tiles.depth;
    AddScaled(dscores[j], embedding, tiles.depth, dq);
    if (relative.with_keys) {
      AddScaled(dscores[j], embedding, tiles.depth, dk + j * tiles.padded_depth);
    }
  }
}

/// Computes the weights, dscores and dq of rows begin to begin + rows of the block at query `block`
/// against the tile at key `first`.
template <class Products, typename T>
void BackwardRows(const BackwardTask<T>& task, const BackwardTiles& tiles,
                  const BackwardScratch& scratch, int64_t block, int64_t begin, int64_t rows,
                  int64_t first, int64_t count) {
  const AttentionBackward<T>& args = *task.args;
  float* weights = scratch.weights + begin * tiles.score_stride();
  float* dscores = scratch.dscores + begin * tiles.score_stride();
  const int64_t packed = begin * (tiles.depth / Products::kTogether);
  MultiplyTile<Products>(tiles, scratch.q + packed, rows, scratch.key_panels, count, weights);
  MultiplyTile<Products>(tiles, scratch.dout + packed, rows, scratch.value_panels, count, dscores);
  const int64_t first_row = task.first_query + block + begin;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = first_row + r;
    float* of_row = weights + r * tiles.score_stride();
    if (args.relative.distances) {
      AddRelativeScores(args.relative, task.rows(args.q, row).data, task.place(row),
                        task.rows(args.k, task.first_key + first), first, count, tiles.depth,
                        of_row);
    }
    float* of_dscores = dscores + r * tiles.score_stride();
    if (count == task.keys) {
      ScoreWholeRow(args.dropout, row, task.head, count, task.shape->scale, task.log_sum(row),
                    of_row, of_dscores, scratch.strip);
    } else {
      ScoreRow(args.dropout, row, task.head, first, count, task.shape->scale, task.log_sum(row),
               scratch.means[begin + r], of_row, of_dscores);
    }
  }
  const float* a = Products::LayOut(tiles, scratch, begin, rows, count);
  const int64_t steps = (count + Products::kTogether - 1) / Products::kTogether;
  float* dq = scratch.dq + (block + begin) * tiles.padded_depth;
  for (int64_t column = 0; column < tiles.depth; column += kPanel) {
    Products::Product(rows, tiles.depth - column, true)(a, tiles.score_stride(),
                                                        scratch.keys + column * steps, steps,
                                                        dq + column, tiles.padded_depth);
  }
  if (!args.relative.distances) return;
  for (int64_t r = 0; r < rows; ++r) {
    AddRelativeGradients(task, first_row + r, first, count, tiles,
                         dscores + r * tiles.score_stride(), dq + r * tiles.padded_depth,
                         scratch.dk);
  }
}

template <class Products, typename T>
void PackBlock(const BackwardTask<T>& task, const BackwardTiles& tiles,
               const BackwardScratch& scratch, int64_t block, int64_t queries) {
  const int64_t row = task.first_query + block;
  const HeadRows<T> q = task.rows(task.args->q, row);
  const HeadRows<T> dout = task.dense(task.args->dout, row);
  Products::PackQueries(q.data, q.stride, queries, tiles.depth, scratch.q);
  Products::PackQueries(dout.data, dout.stride, queries, tiles.depth, scratch.dout);
  Products::PackValues(q.data, q.stride, queries, tiles.depth, scratch.q_panels);
  Products::PackValues(dout.data, dout.stride, queries, tiles.depth, scratch.dout_panels);
  if (task.keys <= tiles.keys) return;  // their tile gives the means
  for (int64_t i = 0; i < queries; ++i) {
    scratch.means[i] =
        Dot(dout.data + i * dout.stride, task.dense(task.args->out, row + i).data, tiles.depth);
  }
}

template <class Products, typename T>
void AttendBackward(const BackwardTask<T>& task, const BackwardTiles& tiles, float* memory) {
  const BackwardScratch scratch(tiles, memory);
  const AttentionBackward<T>& args = *task.args;
  std::fill_n(scratch.dq, task.queries * tiles.padded_depth, 0.0f);
  for (int64_t first = 0; first < task.keys; first += tiles.keys) {
    const int64_t count = std::min(tiles.keys, task.keys - first);
    const int64_t row = task.first_key + first;
    const HeadRows<T> k = task.rows(args.k, row);
    PackTransposed<Products>(k, count, tiles.depth, scratch.key_panels);
    PackTransposed<Products>(task.rows(args.v, row), count, tiles.depth, scratch.value_panels);
    Products::PackValues(k.data, k.stride, count, tiles.depth, scratch.keys);
    std::fill_n(scratch.dk, count * tiles.padded_depth, 0.0f);
    std::fill_n(scratch.dv, count * tiles.padded_depth, 0.0f);
    for (int64_t block = 0; block < task.queries; block += BackwardTiles::kBlock) {
      const int64_t queries = std::min(BackwardTiles::kBlock, task.queries - block);
      PackBlock<Products>(task, tiles, scratch, block, queries);
      for (int64_t begin = 0; begin < queries; begin += kRows) {
        BackwardRows<Products>(task, tiles, scratch, block, begin,
                               std::min<int64_t>(kRows, queries - begin), first, count);
      }
      AddTransposed<Products>(tiles, scratch.weights, queries, count, scratch.dout_panels,
                              scratch.dv);
      AddTransposed<Products>(tiles, scratch.dscores, queries, count, scratch.q_panels, scratch.dk);
    }
    StoreGradients(tiles, scratch.dk, count, task.gradient(args.dk, row), args.dk.stride);
    StoreGradients(tiles, scratch.dv, count, task.gradient(args.dv, row), args.dv.stride);
  }
  if (task.queries == 0) return;
  StoreGradients(tiles, scratch.dq, task.queries, task.gradient(args.dq, task.first_query),
                 args.dq.stride);
}

template <typename T>
void AttendBackwardFp32(const BackwardTask<T>& task, const BackwardTiles& tiles, float* memory) {
  AttendBackward<Fp32Gradients>(task, tiles, memory);
}
void AttendBackwardPairs(const BackwardTask<bf16>& task, const BackwardTiles& tiles,
                         float* memory) {
  AttendBackward<PairGradients>(task, tiles, memory);
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

template <typename T>
BackwardTask<T> task_of(const AttentionShape& shape, const AttentionBackward<T>& args, int64_t s,
                        int64_t head) {
  return {&shape,
          &args,
          head,
          shape.q_offsets[s],
          shape.q_offsets[s + 1] - shape.q_offsets[s],
          shape.k_offsets[s],
          shape.k_offsets[s + 1] - shape.k_offsets[s]};
}

/// Runs in parallel over the rows of the table, each computing again the scores it was part of.
template <typename T>
void add_distance_gradients(const AttentionShape& shape, const AttentionBackward<T>& args,
                            ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(AddDistanceGradient<T>);
  pool.run(2 * args.relative.positions - 1, [&](int64_t distance, int) {
    for (int64_t s = 0; s < shape.sequences; ++s) {
      for (int64_t head = 0; head < shape.heads; ++head) {
        kernel(task_of(shape, args, s, head), distance,
               args.ddistances + distance * shape.head_size);
      }
    }
  });
}

template <typename T>
using BackwardFunction = void(const BackwardTask<T>&, const BackwardTiles&, float*);

template <typename T>
BackwardFunction<T>* choose_kernel(const AttentionShape& shape, const AttentionBackward<T>& args) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (has_bf16_pairs(chosen_isa()) && shape.head_size % 2 == 0 && !args.relative.distances) {
      return HONE_TARGET_FUNCTION(AttendBackwardPairs);
    }
  }
  return HONE_TARGET_FUNCTION(AttendBackwardFp32<T>);
}

/// Gives the floats of one worker, in whole lines.
int64_t share_of(int64_t query_rows, int64_t head_size) {
  return (BackwardTiles(head_size).floats(query_rows) + 15) / 16 * 16;
}

}  // namespace

size_t attention_backward_workspace(int64_t query_rows, int64_t head_size, int threads) {
  return static_cast<size_t>(threads * share_of(query_rows, head_size)) * sizeof(float);
}

template <typename T>
void attention_backward(const AttentionShape& shape, const AttentionBackward<T>& args,
                        void* workspace, ThreadPool& pool) {
  const BackwardTiles tiles(shape.head_size);
  const int64_t share = share_of(shape.q_offsets[shape.sequences], shape.head_size);
  const auto kernel = choose_kernel<T>(shape, args);
  pool.run(shape.sequences * shape.heads, [&](int64_t task, int worker) {
    kernel(task_of(shape, args, task / shape.heads, task % shape.heads), tiles,
           static_cast<float*>(workspace) + worker * share);
  });
  if (args.relative.distances && args.ddistances) add_distance_gradients(shape, args, pool);
}

template void attention_backward(const AttentionShape&, const AttentionBackward<float>&, void*,
                                 ThreadPool&);
template void attention_backward(const AttentionShape&, const AttentionBackward<bf16>&, void*,
                                 ThreadPool&);

}  // namespace hone::kernels
#endif
