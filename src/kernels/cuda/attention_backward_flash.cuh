#pragma once

#include "kernels/cuda/attention_gradients.cuh"

/// The backward pass of long sequences in two launches without atomics: one over tiles of queries,
/// which also leaves facts of the queries in the workspace, [heads][q_rows], then one over tiles of
/// keys.
namespace hone::kernels::cuda {

/// Sizes of a block whose warps have 16 rows each.
template <typename T, int kDepth, int kWarps>
struct BackwardStages {
  static constexpr int kThreads = kWarps * 32, kOwn = kWarps * 16;
  using Ring = TileRing<T, kDepth, kThreads>;
  static constexpr int kWords = kOwn * kTile / 32;  ///< what dropout kept of a tile
  static constexpr int kBytes = 1024 + kStages * Ring::kStageBytes;
};

template <class Products, typename T, int kDepth, int kWarps, int kBlocks, int kWide>
__global__ void __launch_bounds__(kWarps * 32, kBlocks)
    query_gradient_kernel(const __grid_constant__ AttentionShape shape,
                          const __grid_constant__ AttentionBackward a, QueryFact* all_facts) {
  using Stages = BackwardStages<T, kDepth, kWarps>;
  using Ring = typename Stages::Ring;
  extern __shared__ char shared[];
  __shared__ __align__(16) uint32_t words[kStages][Stages::kWords];
  const int64_t sequence = blockIdx.z;
  const int head = static_cast<int>(blockIdx.y);
  const Span span(shape, sequence);
  const int64_t width = shape.heads * kDepth, head_at = head * kDepth;
  T* dq = static_cast<T*>(a.dq.data) + span.q_first * a.dq.stride + head_at;
  if (sequence == shape.sequences || span.keys == 0) {
    zero_head_rows(dq, a.dq.stride, span.queries, kDepth, static_cast<int>(blockIdx.x),
                   static_cast<int>(gridDim.x));
    return;
  }
  const int block_first = static_cast<int>(blockIdx.x) * Stages::kOwn;
  if (block_first >= span.queries) return;
  const int own = static_cast<int>(threadIdx.x) / 32 * 16, first = block_first + own;
  const int there = span.queries - first;
  const bool active = first / Products::kRows * Products::kRows < span.queries;
  const bool drop = a.dropout.p > 0.0f;
  const uint32_t base = tile_base(shared);
  Ring ring(base, static_cast<const T*>(a.k.data) + span.k_first * a.k.stride + head_at, a.k.stride,
            static_cast<const T*>(a.v.data) + span.k_first * a.v.stride + head_at, a.v.stride,
            span.keys);
  const auto fetch = [&](int tile) {
    if (drop && tile * kTile < span.keys) {
      fetch_kept<kTile / 32, Stages::kOwn, Stages::kThreads>(
          words[ring.stage()], shape, a.kept, head, span.q_first + block_first,
          span.queries - block_first, tile * (kTile / 32));
    }
    ring.fetch();
    commit_copies();
  };
  fetch(0);
  fetch(1);
  Rows<kDepth> q, dout;
  const int64_t row = span.q_first + first;
  q.load(static_cast<const T*>(a.q.data) + row * a.q.stride + head_at, a.q.stride, there);
  dout.load(static_cast<const T*>(a.dout) + row * width + head_at, width, there);
  const QueryFacts facts(dout, static_cast<const T*>(a.out) + row * width + head_at, width,
                         a.log_sums + row * shape.heads + head, shape.heads, there);
  facts.write(all_facts + head * shape.q_rows + row, there);
  float sums[kDepth / 8][4] = {};
  const float kept_scale = 1.0f / (1.0f - a.dropout.p);
#pragma unroll 1
  for (int tile = 0, stage = 0; tile * kTile < span.keys; ++tile, stage = next_stage(stage)) {
    wait_tile<Products::kAsync>();
    fetch(tile + 2);
    if (!active) continue;
    const uint32_t keys = base + static_cast<uint32_t>(stage * Ring::kStageBytes);
    const Kept kept{drop ? words[stage] + own : nullptr, Stages::kOwn, kept_scale};
    query_gradient_tile<Products, typename Ring::Rows, kTile, kWide, T, kDepth>(
        sums, q, dout, facts, kept, shape.scale * kLog2E, keys, keys + Ring::Rows::kBytes,
        span.keys - tile * kTile);
  }
  if (there <= 0) return;
  store_rows<kDepth>(sums, shape.scale, shape.scale, dq + first * a.dq.stride, a.dq.stride, there);
}

template <class Products, typename T, int kDepth, int kWarps, int kBlocks, int kWide>
__global__ void __launch_bounds__(kWarps * 32, kBlocks)
    key_gradient_kernel(const __grid_constant__ AttentionShape shape,
                        const __grid_constant__ AttentionBackward a, const QueryFact* all_facts) {
  using Stages = BackwardStages<T, kDepth, kWarps>;
  using Ring = typename Stages::Ring;
  extern __shared__ char shared[];
  __shared__ __align__(16) uint32_t words[kStages][Stages::kWords];
  __shared__ __align__(16) QueryFact facts[kStages][kTile];
  const int64_t sequence = blockIdx.z;
  const int head = static_cast<int>(blockIdx.y);
  const Span span(shape, sequence);
  const int64_t width = shape.heads * kDepth, head_at = head * kDepth;
  T* dk = static_cast<T*>(a.dk.data) + span.k_first * a.dk.stride + head_at;
  T* dv = static_cast<T*>(a.dv.data) + span.k_first * a.dv.stride + head_at;
  if (sequence == shape.sequences || span.queries == 0) {
    const int part = static_cast<int>(blockIdx.x), parts = static_cast<int>(gridDim.x);
    zero_head_rows(dk, a.dk.stride, span.keys, kDepth, part, parts);
    zero_head_rows(dv, a.dv.stride, span.keys, kDepth, part, parts);
    return;
  }
  const int block_first = static_cast<int>(blockIdx.x) * Stages::kOwn;
  if (block_first >= span.keys) return;
  const int own = static_cast<int>(threadIdx.x) / 32 * 16, first = block_first + own;
  const int there = span.keys - first;
  const bool active = first / Products::kRows * Products::kRows < span.keys;
  const bool drop = a.dropout.p > 0.0f;
  const uint32_t base = tile_base(shared);
  Ring ring(base, static_cast<const T*>(a.q.data) + span.q_first * a.q.stride + head_at, a.q.stride,
            static_cast<const T*>(a.dout) + span.q_first * width + head_at, width, span.queries);
  const auto fetch = [&](int tile) {
    const int query = tile * kTile;
    if (query < span.queries) {
      const int64_t row = span.q_first + query;
      if (drop) {
        fetch_kept<Stages::kOwn / 32, kTile, Stages::kThreads>(
            words[ring.stage()], shape, a.kept, head, row, span.queries - query, block_first / 32);
      }
      const int i = static_cast<int>(threadIdx.x);
      if (i < kTile) {
        const bool exists = query + i < span.queries;
        copy_small_async(&facts[ring.stage()][i],
                         all_facts + (exists ? head * shape.q_rows + row + i : 0), exists);
      }
    }
    ring.fetch();
    commit_copies();
  };
  fetch(0);
  fetch(1);
  Rows<kDepth> k, v;
  const int64_t row = span.k_first + first;
  k.load(static_cast<const T*>(a.k.data) + row * a.k.stride + head_at, a.k.stride, there);
  v.load(static_cast<const T*>(a.v.data) + row * a.v.stride + head_at, a.v.stride, there);
  float dk_sums[kDepth / 8][4] = {}, dv_sums[kDepth / 8][4] = {};
  const float kept_scale = 1.0f / (1.0f - a.dropout.p);
#pragma unroll 1
  for (int tile = 0, stage = 0; tile * kTile < span.queries; ++tile, stage = next_stage(stage)) {
    wait_tile<Products::kAsync>();
    fetch(tile + 2);
    if (!active) continue;
    const uint32_t queries = base + static_cast<uint32_t>(stage * Ring::kStageBytes);
    const Kept kept{drop ? words[stage] + own / 32 * kTile : nullptr, 0, kept_scale};
    key_gradient_tile<Products, typename Ring::Rows, kTile, kWide, T, kDepth>(
        dk_sums, dv_sums, k, v, kept, shape.scale * kLog2E, queries, queries + Ring::Rows::kBytes,
        facts[stage], span.queries - tile * kTile, first);
  }
  if (there <= 0) return;
  store_rows<kDepth>(dk_sums, shape.scale, shape.scale, dk + first * a.dk.stride, a.dk.stride,
                     there);
  store_rows<kDepth>(dv_sums, kept_scale, kept_scale, dv + first * a.dv.stride, a.dv.stride, there);
}

/// Launches `kernel`, one of the above, with kWarps warps.
template <typename T, int kDepth, int kWarps, typename Kernel, typename Facts>
Status launch_backward(Kernel kernel, int64_t longest, const AttentionShape& shape,
                       const AttentionBackward& arrays, Facts* facts, Stream stream) {
  using Stages = BackwardStages<T, kDepth, kWarps>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Stages::kBytes);
  const int64_t tiles = std::max<int64_t>(ceil_div(longest, Stages::kOwn), 1);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(shape.heads),
                  static_cast<unsigned>(shape.sequences + 1));
  kernel<<<grid, Stages::kThreads, Stages::kBytes, stream_of(stream)>>>(shape, arrays, facts);
  return launched();
}

}  // namespace hone::kernels::cuda
