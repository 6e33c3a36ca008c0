#include "kernels/cpu/attention.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/attention_pairs-inl.h"
#include "kernels/cpu/attention_relative-inl.h"
#include "kernels/cpu/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <class Products, typename In>
void PackTile(const AttentionTiles& tiles, HeadRows<In> k, HeadRows<In> v, int64_t count,
              const AttentionScratch& scratch) {
  const int64_t steps = tiles.depth / Products::kTogether;
  for (int64_t j = 0; j < count; j += kPanel) {
    Products::PackKeyPanel(k.data + j * k.stride, k.stride, std::min(kPanel, count - j),
                           tiles.depth, scratch.keys + j * steps);
  }
  Products::PackValues(v.data, v.stride, count, tiles.depth, scratch.values);
}

HWY_INLINE void ScaleSums(float* sums, int64_t count, float factor) {
  const VF32 by = hn::Set(kF32, factor);
  for (int64_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(kF32, sums + i), by), kF32, sums + i);
  }
}

/// Sets what is dropped of one row's weights of a tile to 0; what is kept is scaled at the end.
template <typename Weight>
HWY_INLINE void DropWeights(const AttentionDropout& dropout, int64_t first_key, int64_t count,
                            Weight* weights) {
  ForKeptKeys(dropout, first_key, count, [&](int64_t j, hn::Mask<F32> kept) HWY_ATTR {
    StoreVector(hn::IfThenElseZero(kept, LoadVector(weights + j)), weights + j);
  });
}

/// Rows begin to begin + rows of the block against the packed tile that starts at first_key.
template <class Products, typename In, typename Out>
void AttendRows(const Products& products, const AttentionBlock<In, Out>& block,
                const AttentionTiles& tiles, const AttentionScratch& scratch, int64_t begin,
                int64_t rows, int64_t first_key, int64_t count) {
  using Weight = typename Products::Weight;
  const int64_t depth_steps = tiles.depth / Products::kTogether;
  const int64_t filled = hwy::RoundUpTo(count, Products::kTerms);
  const int64_t key_steps = filled / Products::kTogether;
  for (int64_t j = 0; j < count; j += kPanel) {
    PanelProduct* const score = products.Product(rows, count - j, false);
    score(scratch.queries + begin * depth_steps, depth_steps, scratch.keys + j * depth_steps,
          depth_steps, scratch.scores + j, tiles.keys);
  }
  float* sums = scratch.sums + begin * tiles.padded_depth;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = begin + r;
    float* scores = scratch.scores + r * tiles.keys;
    if (block.relative.distances) {
      const int32_t* positions = block.relative.q_positions;
      AddRelativeScores(block.relative, block.q.data + row * block.q.stride,
                        positions ? positions[row] : block.first_position + row,
                        HeadRows<In>{block.k.data + first_key * block.k.stride, block.k.stride},
                        first_key, count, tiles.depth, scores);
    }
    const float change = SoftmaxTile<Weight, Products::kNative>(
        scores, count, block.scale, scratch.largest[row], scratch.totals[row]);
    auto* weights = reinterpret_cast<Weight*>(scores);
    if (block.dropout) {
      DropWeights(AttentionDropout(*block.dropout, block.row + row, block.head), first_key, count,
                  weights);
    }
    for (int64_t j = hwy::RoundUpTo(count, kLanes); j < filled; j += kLanes) {
      StoreVector(hn::Zero(kF32), weights + j);
    }
    if (first_key > 0) ScaleSums(sums + r * tiles.padded_depth, tiles.padded_depth, change);
  }
  for (int64_t column = 0; column < tiles.depth; column += kPanel) {
    PanelProduct* const weigh = products.Product(rows, tiles.depth - column, first_key > 0);
    weigh(scratch.scores, tiles.keys, scratch.values + column * key_steps, key_steps, sums + column,
          tiles.padded_depth);
  }
}

template <bool native, typename In, typename Out>
void StoreRows(const AttentionBlock<In, Out>& block, const AttentionTiles& tiles,
               const AttentionScratch& scratch) {
  const int64_t lanes = kLanes;
  const float kept = block.dropout ? 1.0f / (1.0f - block.dropout->p) : 1.0f;
  for (int64_t row = 0; row < block.queries; ++row) {
    // The total is 0 only where there are no keys.
    const VF32 total = hn::Set(kF32, block.keys > 0 ? kept / scratch.totals[row] : 0.0f);
    const float* sums = scratch.sums + row * tiles.padded_depth;
    Out* out = block.out + row * block.out_stride;
    int64_t i = 0;
    for (; i + lanes <= tiles.depth; i += lanes) {
      StoreVectorBy<native>(hn::Mul(hn::LoadU(kF32, sums + i), total), out + i);
    }
    if (i < tiles.depth) {
      StorePart(hn::Mul(hn::LoadU(kF32, sums + i), total), out + i, tiles.depth - i);
    }
    if (block.log_sums) {
      block.log_sums[row * block.log_sums_stride] =
          scratch.largest[row] + std::log(scratch.totals[row]);
    }
  }
}

template <class Products, typename In, typename Out>
void Attend(const Products& products, const AttentionBlock<In, Out>& block,
            const AttentionTiles& tiles, float* memory) {
  const AttentionScratch scratch(tiles, memory);
  Products::PackQueries(block.q.data, block.q.stride, block.queries, tiles.depth, scratch.queries);
  std::fill_n(scratch.largest, block.queries, -std::numeric_limits<float>::infinity());
  std::fill_n(scratch.totals, block.queries, 0.0f);
  // Groups are of nearly equal size: a last group of one row would take as long as one of four.
  constexpr int64_t kUnit = Products::kRowUnit;
  const int64_t units = (block.queries + kUnit - 1) / kUnit;
  const int64_t groups = (block.queries + Products::kRows - 1) / Products::kRows;
  if (block.keys == 0) std::fill_n(scratch.sums, block.queries * tiles.padded_depth, 0.0f);
  for (int64_t first = 0; first < block.keys; first += tiles.keys) {
    const int64_t count = std::min(tiles.keys, block.keys - first);
    PackTile<Products>(tiles, HeadRows<In>{block.k.data + first * block.k.stride, block.k.stride},
                       HeadRows<In>{block.v.data + first * block.v.stride, block.v.stride}, count,
                       scratch);
    for (int64_t i = 0; i < groups; ++i) {
      const int64_t row = i * units / groups * kUnit;
      const int64_t end = std::min((i + 1) * units / groups * kUnit, block.queries);
      AttendRows(products, block, tiles, scratch, row, end - row, first, count);
    }
  }
  StoreRows<Products::kNative>(block, tiles, scratch);
}

template <typename In, typename Out>
void AttendFp32(const AttentionBlock<In, Out>& block, const AttentionTiles& tiles, float* memory) {
  Attend(Fp32Products{}, block, tiles, memory);
}
template <typename Out>
void AttendPairs(const AttentionBlock<bf16, Out>& block, const AttentionTiles& tiles,
                 float* memory) {
  Attend(PairProducts{}, block, tiles, memory);
}
template <typename Out>
void AttendByTiles(const AmxPanels& panels, const AttentionBlock<bf16, Out>& block,
                   const AttentionTiles& tiles, float* memory) {
  panels.begin();
  Attend(TileProducts{{}, panels}, block, tiles, memory);
  panels.end();
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

constexpr int64_t kAlign = 64;
int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Says how one sequence is cut into tasks: blocks of queries, by groups of heads where those are
/// small.
struct SequenceTasks {
  SequenceTasks(const AttentionShape& shape, int64_t s)
      : queries(shape.q_offsets[s + 1] - shape.q_offsets[s]),
        keys(shape.k_offsets[s + 1] - shape.k_offsets[s]),
        blocks((queries + AttentionTiles::kQueries - 1) / AttentionTiles::kQueries) {
    // Fewer scores than this take less time than handing out the task.
    constexpr int64_t kScores = 2048;
    const int64_t scores = std::max<int64_t>(1, queries * keys);
    group = std::clamp<int64_t>(kScores / scores, 1, std::max<int64_t>(1, shape.heads));
    groups = (shape.heads + group - 1) / group;
  }
  int64_t count() const { return blocks * groups; }

  int64_t queries, keys, blocks;
  int64_t group;   ///< heads a task
  int64_t groups;  ///< groups of heads
};

template <typename T>
HeadRows<T> offset(HeadRows<T> rows, int64_t row, int64_t column) {
  return {rows.data + row * rows.stride + column, rows.stride};
}

template <typename In, typename Out>
using AttendFunction = void(const AttentionBlock<In, Out>&, const AttentionTiles&, float*);

template <typename In, typename Out>
AttendFunction<In, Out>* choose_attend(const AttentionShape& shape) {
  if constexpr (std::is_same_v<In, bf16>) {
    if (has_bf16_pairs(chosen_isa()) && shape.head_size % 2 == 0) {
      return HONE_TARGET_FUNCTION(AttendPairs<Out>);
    }
  }
  return HONE_TARGET_FUNCTION(AttendFp32<In, Out>);
}

}  // namespace

size_t attention_workspace(int64_t sequences, int64_t head_size, int threads) {
  const int64_t scratch = aligned(AttentionTiles(head_size).floats() * 4);
  return static_cast<size_t>(aligned((sequences + 1) * 8) + threads * scratch);
}

namespace {

/// attend(block, tiles, memory) does one head of some queries of one sequence.
template <typename In, typename Out, class Attend>
void attention_by(const Attend& attend, const AttentionShape& shape, HeadRows<In> q, HeadRows<In> k,
                  HeadRows<In> v, const RelativePositions& relative, Out* out, float* log_sums,
                  void* workspace, ThreadPool& pool, const Dropout& dropout) {
  const AttentionTiles tiles(shape.head_size);
  int64_t* first_task = static_cast<int64_t*>(workspace);
  first_task[0] = 0;
  for (int64_t s = 0; s < shape.sequences; ++s) {
    first_task[s + 1] = first_task[s] + SequenceTasks(shape, s).count();
  }
  char* scratch = static_cast<char*>(workspace) + aligned((shape.sequences + 1) * 8);
  const int64_t scratch_size = aligned(tiles.floats() * 4);
  const int64_t width = shape.heads * shape.head_size;

  pool.run(first_task[shape.sequences], [&](int64_t task, int worker) {
    const int64_t* past = std::upper_bound(first_task, first_task + shape.sequences + 1, task);
    const int64_t s = past - first_task - 1;
    const SequenceTasks tasks(shape, s);
    const int64_t within = task - first_task[s];
    const int64_t first = within % tasks.blocks * AttentionTiles::kQueries;
    const int64_t row = shape.q_offsets[s] + first;
    const int64_t head_begin = within / tasks.blocks * tasks.group;
    const int64_t head_end = std::min(shape.heads, head_begin + tasks.group);
    for (int64_t head = head_begin; head < head_end; ++head) {
      const int64_t column = head * shape.head_size;
      AttentionBlock<In, Out> block{
          .q = offset(q, row, column),
          .k = offset(k, shape.k_offsets[s], column),
          .v = offset(v, shape.k_offsets[s], column),
          .queries = std::min(AttentionTiles::kQueries, tasks.queries - first),
          .keys = tasks.keys,
          .scale = shape.scale,
          .relative = relative,
          .first_position = first,
          .out = out + row * width + column,
          .out_stride = width,
          .log_sums = log_sums ? log_sums + row * shape.heads + head : nullptr,
          .log_sums_stride = shape.heads,
          .dropout = dropout.p > 0.0f ? &dropout : nullptr,
          .row = row,
          .head = head};
      if (relative.q_positions) block.relative.q_positions += row;
      attend(block, tiles, reinterpret_cast<float*>(scratch + worker * scratch_size));
    }
  });
}

}  // namespace

template <typename Out>
void attention_with(const AmxPanels& panels, const AttentionShape& shape, HeadRows<bf16> q,
                    HeadRows<bf16> k, HeadRows<bf16> v, const RelativePositions& relative, Out* out,
                    float* log_sums, void* workspace, ThreadPool& pool, const Dropout& dropout) {
  const auto attend = HONE_TARGET_FUNCTION(AttendByTiles<Out>);
  attention_by([&](const AttentionBlock<bf16, Out>& block, const AttentionTiles& tiles,
                   float* memory) { attend(panels, block, tiles, memory); },
               shape, q, k, v, relative, out, log_sums, workspace, pool, dropout);
}

template <typename In, typename Out>
void attention(const AttentionShape& shape, HeadRows<In> q, HeadRows<In> k, HeadRows<In> v,
               const RelativePositions& relative, Out* out, float* log_sums, void* workspace,
               ThreadPool& pool, const Dropout& dropout) {
#if HWY_ARCH_X86
  if constexpr (std::is_same_v<In, bf16>) {
    if (chosen_isa() == Isa::amx && fits_amx(shape.head_size)) {
      return attention_with(*amx_panels(), shape, q, k, v, relative, out, log_sums, workspace, pool,
                            dropout);
    }
  }
#endif
  attention_by(*choose_attend<In, Out>(shape), shape, q, k, v, relative, out, log_sums, workspace,
               pool, dropout);
}

template void attention_with(const AmxPanels&, const AttentionShape&, HeadRows<bf16>,
                             HeadRows<bf16>, HeadRows<bf16>, const RelativePositions&, bf16*,
                             float*, void*, ThreadPool&, const Dropout&);
template void attention_with(const AmxPanels&, const AttentionShape&, HeadRows<bf16>,
                             HeadRows<bf16>, HeadRows<bf16>, const RelativePositions&, float*,
                             float*, void*, ThreadPool&, const Dropout&);
template void attention(const AttentionShape&, HeadRows<float>, HeadRows<float>, HeadRows<float>,
                        const RelativePositions&, float*, float*, void*, ThreadPool&,
                        const Dropout&);
template void attention(const AttentionShape&, HeadRows<bf16>, HeadRows<bf16>, HeadRows<bf16>,
                        const RelativePositions&, bf16*, float*, void*, ThreadPool&,
                        const Dropout&);
template void attention(const AttentionShape&, HeadRows<bf16>, HeadRows<bf16>, HeadRows<bf16>,
                        const RelativePositions&, float*, float*, void*, ThreadPool&,
                        const Dropout&);

}  // namespace hone::kernels
#endif
