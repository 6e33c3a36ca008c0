#pragma once

#include "kernels/cuda/attention_tiles.cuh"

/// Attention by tiles of keys with a running maximum and sum: a warp has 16 queries of one head,
/// and keys and values pass through shared memory.
namespace hone::kernels::cuda {

constexpr int kTileColumns = kTile / 8;

/// Running holds, for the two rows of a thread, a row's maximum (of raw scores) that its sums refer
/// to, and the thread's share of the sum.
struct Running {
  float largest[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0f, 0.0f};
};

/// Turns scores into probabilities of the running maximum, to which the sums are brought: a larger
/// maximum is taken up when it is so by a factor of 2^8, which floats do not mind.
template <int kDepth>
__device__ __forceinline__ void softmax_tile(float (&s)[kTileColumns][4], float scale_log2,
                                             Running& running, float (&out)[kDepth / 8][4]) {
  float largest[2];
  bool larger = false;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float now = fmaxf(s[0][2 * half], s[0][2 * half + 1]);
#pragma unroll
    for (int j = 1; j < kTileColumns; ++j) {
      now = fmaxf(now, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
    }
    now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 1));
    now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 2));
    // Every tile has a key, so the maximum is finite behind the first.
    const bool take = (now - running.largest[half]) * scale_log2 > 8.0f;
    largest[half] = take ? now : running.largest[half];
    larger |= take;
  }
  if (__any_sync(0xffffffffu, larger)) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float rescale = exp2_fast((running.largest[half] - largest[half]) * scale_log2);
      running.largest[half] = largest[half];
      running.sum[half] *= rescale;
#pragma unroll
      for (int d = 0; d < kDepth / 8; ++d) {
        out[d][2 * half] *= rescale;
        out[d][2 * half + 1] *= rescale;
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float scaled = running.largest[half] * scale_log2;
#pragma unroll
    for (int j = 0; j < kTileColumns; ++j) {
#pragma unroll
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        s[j][e] = exp2_fast(fmaf(s[j][e], scale_log2, -scaled));
        running.sum[half] += s[j][e];
      }
    }
  }
}

/// Drops from a warp's 16 rows: each of a row's four threads draws one of the words that two rows
/// have for a tile of keys.
struct TileDropper {
  const DropShare& share;
  Dropper drop;
  uint64_t sample = 0;
  uint32_t position = 0;
  uint32_t* kept = nullptr;  ///< the words of the thread's row, from group 0; null: not wanted
  int64_t kept_stride = 0;   ///< the distance to the next group
  int groups = 0;            ///< the groups that there is room for

  __device__ __forceinline__ TileDropper(const AttentionShape& shape, const AttentionForward& a,
                                         const DropShare& share_, int64_t first, int there,
                                         int head)
      : share(share_), drop(a.dropout) {
    const int row = lane_row() + (static_cast<int>(threadIdx.x) & 2) * 4;
    if (row >= there) return;
    sample = static_cast<uint64_t>(drop.samples[first + row]);
    position = static_cast<uint32_t>(drop.positions[first + row]);
    if (!a.kept) return;
    kept = a.kept + kept_at(shape, first + row, head, 0);
    kept_stride = shape.q_rows;
    groups = static_cast<int>(kept_words(shape));
  }

  /// Drops probabilities that were rounded, and writes what was kept.
  __device__ __forceinline__ void apply(int head, int tile, uint32_t (&p)[kTile / 16][4]) const {
    const int lane = static_cast<int>(threadIdx.x % 32), group = 2 * tile + lane % 2;
    const uint32_t mine = draw_kept(share, drop.key, sample, position, head, group);
    if (group < groups) kept[group * kept_stride] = mine;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i / 2, first = i % 2 * 4;
      const KeptColumns columns(__shfl_sync(0xffffffffu, mine, (lane & ~3) + i));
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t& pair = p[(first + j) / 2][(first + j) % 2 * 2 + half];
        pair = columns.drop_pair(j, pair);
      }
    }
  }
};

template <class Products, typename T, int kDepth, int kWarps, int kBlocks, bool kDrop>
__global__ void __launch_bounds__(kWarps * 32, kBlocks)
    flash_kernel(const __grid_constant__ AttentionShape shape,
                 const __grid_constant__ AttentionForward a,
                 const __grid_constant__ DropShare share) {
  extern __shared__ char shared[];
  const int64_t sequence = blockIdx.z;
  const int head = static_cast<int>(blockIdx.y);
  const Span span(shape, sequence);
  const int64_t width = shape.heads * kDepth;
  T* out = static_cast<T*>(a.out) + span.q_first * width + head * kDepth;
  if (sequence == shape.sequences || span.keys == 0) {
    const int first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
    zero_head_rows(out, width, span.queries, kDepth, first, step);
    for (int i = first; a.log_sums && threadIdx.x == 0 && i < span.queries; i += step) {
      a.log_sums[(span.q_first + i) * shape.heads + head] = -INFINITY;
    }
    return;
  }
  const int block_first = static_cast<int>(blockIdx.x) * kWarps * 16;
  if (block_first >= span.queries) return;
  const int first = block_first + static_cast<int>(threadIdx.x / 32) * 16;
  const int there = span.queries - first;
  const bool active = first / Products::kRows * Products::kRows < span.queries;

  using Ring = TileRing<T, kDepth, kWarps * 32>;
  const uint32_t base = tile_base(shared);
  Ring ring(base, static_cast<const T*>(a.k.data) + span.k_first * a.k.stride + head * kDepth,
            a.k.stride, static_cast<const T*>(a.v.data) + span.k_first * a.v.stride + head * kDepth,
            a.v.stride, span.keys);
  ring.fetch();
  commit_copies();
  ring.fetch();
  commit_copies();
  Rows<kDepth> q;
  q.load(static_cast<const T*>(a.q.data) + (span.q_first + first) * a.q.stride + head * kDepth,
         a.q.stride, there);
  const TileDropper drop(shape, kDrop ? a : AttentionForward{}, share, span.q_first + first,
                         kDrop ? there : 0, head);
  Running running;
  float sums[kDepth / 8][4] = {};
  const float scale_log2 = shape.scale * kLog2E;
#pragma unroll 1
  for (int tile = 0, stage = 0; tile * kTile < span.keys; ++tile, stage = next_stage(stage)) {
    wait_tile<Products::kAsync>();
    ring.fetch();
    commit_copies();
    const uint32_t keys = base + static_cast<uint32_t>(stage * Ring::kStageBytes);
    if (!active) continue;
    float s[kTileColumns][4];
    Products::begin();
    Products::template transposed<typename Ring::Rows>(s, q, keys, 0);
    Products::finish(s);
    if (span.keys - tile * kTile < kTile) mask_keys(s, span.keys - tile * kTile);
    softmax_tile<kDepth>(s, scale_log2, running, sums);
    uint32_t p[kTile / 16][4];
    pack_rows<T>(s, p);
    if constexpr (kDrop) drop.apply(head, tile, p);
    Products::begin();
    Products::template add<typename Ring::Rows>(sums, p, keys + Ring::Rows::kBytes, 0);
    Products::finish(sums);
  }
  if (there <= 0) return;
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = running.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    factor[half] = (kDrop ? drop.drop.scale : 1.0f) / sum;
    const int row = lane_row() + 8 * half;
    if (a.log_sums && threadIdx.x % 4 == 0 && row < there) {
      a.log_sums[(span.q_first + first + row) * shape.heads + head] =
          running.largest[half] * shape.scale + __logf(sum);
    }
  }
  store_rows<kDepth>(sums, factor[0], factor[1], out + first * width, width, there);
}

/// kBlocks blocks of a multiprocessor are to have enough registers.
template <class Products, typename T, int kDepth, int kWarps, int kBlocks, bool kDrop>
Status launch_flash(const AttentionShape& shape, const AttentionForward& arrays, Stream stream) {
  const auto kernel = flash_kernel<Products, T, kDepth, kWarps, kBlocks, kDrop>;
  using Ring = TileRing<T, kDepth, kWarps * 32>;
  const int64_t stages = std::clamp<int64_t>(ceil_div(shape.longest_k, kTile), 1, kStages);
  const int bytes = static_cast<int>(stages) * Ring::kStageBytes + 1024;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  const int64_t tiles = std::max<int64_t>(ceil_div(shape.longest_q, kWarps * 16), 1);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(shape.heads),
                  static_cast<unsigned>(shape.sequences + 1));
  kernel<<<grid, kWarps * 32, static_cast<size_t>(bytes), stream_of(stream)>>>(
      shape, arrays, drop_share(arrays.dropout.p));
  return launched();
}

}  // namespace hone::kernels::cuda
