// Attention by tiles of keys with a running maximum and sum: a warp has 16 queries of one head, a
// block 64 or 128, and keys and values pass through shared memory, the next tile on its way while
// one is worked on.

#include "kernels/cuda/attention_tiles.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kKeys = 64;  ///< of a tile
constexpr int kPairs = kKeys / 16;

/// A row's running maximum (of raw scores) and sum, for the two rows of a thread.
struct Running {
  float largest[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0f, 0.0f};
};

/// Scores to probabilities of the running maximum; sum and `out` are brought to it.
template <int kDepth>
__device__ __forceinline__ void softmax_tile(float (&s)[kPairs][2][4], float scale_log2,
                                             Running& running, float (&out)[kDepth / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = running.largest[half];
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        largest = fmaxf(largest, fmaxf(s[pair][h][2 * half], s[pair][h][2 * half + 1]));
      }
    }
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
    // Every tile has a key, so the maximum is finite behind the first.
    const float scaled = largest * scale_log2;
    const float rescale = exp2_fast(running.largest[half] * scale_log2 - scaled);
    float sum = 0.0f;
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int j = 2 * half; j < 2 * half + 2; ++j) {
          s[pair][h][j] = exp2_fast(fmaf(s[pair][h][j], scale_log2, -scaled));
          sum += s[pair][h][j];
        }
      }
    }
    running.largest[half] = largest;
    running.sum[half] = running.sum[half] * rescale + sum;
#pragma unroll
    for (int d = 0; d < kDepth / 8; ++d) {
      out[d][2 * half] *= rescale;
      out[d][2 * half + 1] *= rescale;
    }
  }
}

/// The four threads of a row put their bits together.
__device__ __forceinline__ void write_kept(uint32_t* low, int64_t kept_8, const RowDropper& drop,
                                           const uint32_t (&kept)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t word = kept[half];
    word |= __shfl_xor_sync(0xffffffffu, word, 1);
    word |= __shfl_xor_sync(0xffffffffu, word, 2);
    if (threadIdx.x % 4 == 0 && drop.exists[half]) low[half * kept_8] = word;
  }
}

template <typename T, int kDepth, int kWarps, bool kDrop>
__global__ void __launch_bounds__(kWarps * 32, (kDepth <= 64 ? 16 : 8) / kWarps)
    flash_kernel(AttentionShape shape, AttentionForward a) {
  extern __shared__ __align__(256) char shared[];
  constexpr int kTileBytes = kKeys * kDepth * 2;
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

  const T* k = static_cast<const T*>(a.k.data) + span.k_first * a.k.stride + head * kDepth;
  const T* v = static_cast<const T*>(a.v.data) + span.k_first * a.v.stride + head * kDepth;
  const uint32_t base = shared_address(shared);
  const auto fetch = [&](int tile) {
    const int at = tile * kKeys;
    const uint32_t to = base + static_cast<uint32_t>((tile & 1) * 2 * kTileBytes);
    Tile<kDepth>::template load<kKeys, kWarps * 32>(to, k + at * a.k.stride, a.k.stride,
                                                    span.keys - at);
    Tile<kDepth>::template load<kKeys, kWarps * 32>(to + kTileBytes, v + at * a.v.stride,
                                                    a.v.stride, span.keys - at);
    commit_copies();
  };
  fetch(0);
  Rows<kDepth> q;
  q.load(static_cast<const T*>(a.q.data) + (span.q_first + first) * a.q.stride + head * kDepth,
         a.q.stride, there);
  const RowDropper drop(kDrop ? a.dropout : Dropout{}, span.q_first + first, there);
  const int64_t kept_8 = 8 * shape.heads * kept_words(shape);
  uint32_t* kept_row = nullptr;
  if (a.kept) {
    const int64_t row = span.q_first + first + static_cast<int>(threadIdx.x % 32) / 4;
    kept_row = a.kept + kept_at(shape, row, head, 0);
  }
  Running running;
  float sums[kDepth / 8][4] = {};
  const float scale_log2 = shape.scale * kLog2E;
  const int tiles = (span.keys + kKeys - 1) / kKeys;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      fetch(tile + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    __syncthreads();
    if (there > 0) {
      const uint32_t keys = base + static_cast<uint32_t>((tile & 1) * 2 * kTileBytes);
      float s[kPairs][2][4];
      multiply_transposed<kDepth, kPairs, T>(s, q, keys, 0);
      if (tile + 1 == tiles) mask_keys(s, span.keys - tile * kKeys);
      softmax_tile<kDepth>(s, scale_log2, running, sums);
      if constexpr (kDrop) {
#pragma unroll
        for (int step = 0; step < kKeys; step += 32) {
          uint32_t kept[2];
          drop.draw(head, tile * kKeys + step, kept);
          drop_step(s, step / 16, kept);
          if (kept_row && tile * kKeys + step < span.keys) {
            write_kept(kept_row + (tile * kKeys + step) / 32, kept_8, drop, kept);
          }
        }
      }
      multiply_add<kDepth, kPairs, T>(sums, s, keys + kTileBytes, 0);
    }
    __syncthreads();
  }
  if (there <= 0) return;
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = running.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    factor[half] = drop.drop.scale / sum;
    const int lane = static_cast<int>(threadIdx.x % 32), row = lane / 4 + 8 * half;
    if (a.log_sums && lane % 4 == 0 && row < there) {
      a.log_sums[(span.q_first + first + row) * shape.heads + head] =
          running.largest[half] * shape.scale + __logf(sum);
    }
  }
  store_rows<kDepth>(sums, factor[0], factor[1], out + first * width, width, there);
}

template <typename T, int kDepth, int kWarps, bool kDrop>
Status launch(const AttentionShape& shape, const AttentionForward& arrays, Stream stream) {
  const auto kernel = flash_kernel<T, kDepth, kWarps, kDrop>;
  const int bytes = (shape.longest_k > kKeys ? 4 : 2) * kKeys * kDepth * 2;
  if (bytes > 48 * 1024) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  }
  const int64_t tiles = ceil_div(shape.longest_q, kWarps * 16);
  const dim3 grid(static_cast<unsigned>(tiles > 0 ? tiles : 1),
                  static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.sequences + 1));
  kernel<<<grid, kWarps * 32, static_cast<size_t>(bytes), stream_of(stream)>>>(shape, arrays);
  return launched();
}

}  // namespace

Status attention_flash(const AttentionShape& shape, const AttentionForward& arrays,
                       Stream stream) {
  return by_flash_heads(shape, [&](auto* type, auto depth) {
    using T = std::remove_pointer_t<decltype(type)>;
    // More queries a block share a tile of keys, where there are as many. A warp by itself takes
    // longer to fetch a tile than four, mostly idle ones: 23 against 15 us for 128 sentences.
    constexpr int kDepth = depth.value;
    const bool wide = shape.longest_q > 64;
    if (arrays.dropout.p > 0.0f) {
      return wide ? launch<T, kDepth, 8, true>(shape, arrays, stream)
                  : launch<T, kDepth, 4, true>(shape, arrays, stream);
    }
    return wide ? launch<T, kDepth, 8, false>(shape, arrays, stream)
                : launch<T, kDepth, 4, false>(shape, arrays, stream);
  });
}

}  // namespace hone::kernels::cuda
