// The backward pass of long sequences in two launches without atomics: one over tiles of queries,
// which also leaves dout . out in the workspace, then one over tiles of keys.

#include "kernels/cuda/attention_tiles.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kOwn = kWarps * 16;  ///< rows of a block
constexpr int kTile = 64;          ///< rows of the other side at a time

template <typename T, int kDepth>
__global__ void __launch_bounds__(kThreads, kDepth <= 64 ? 3 : 2)
    query_gradient_kernel(AttentionShape shape, AttentionBackward a, float* means) {
  extern __shared__ __align__(256) char shared[];
  constexpr uint32_t kTileBytes = kTile * kDepth * 2;
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
  if (static_cast<int>(blockIdx.x) * kOwn >= span.queries) return;
  const int first = static_cast<int>(blockIdx.x * kOwn + threadIdx.x / 32 * 16);
  const int there = span.queries - first;
  const T* k = static_cast<const T*>(a.k.data) + span.k_first * a.k.stride + head_at;
  const T* v = static_cast<const T*>(a.v.data) + span.k_first * a.v.stride + head_at;
  const uint32_t base = shared_address(shared);
  const auto fetch = [&](int tile) {
    const uint32_t to = base + static_cast<uint32_t>(tile & 1) * 2 * kTileBytes;
    const int at = tile * kTile;
    Tile<kDepth>::template load<kTile, kThreads>(to, k + at * a.k.stride, a.k.stride,
                                                 span.keys - at);
    Tile<kDepth>::template load<kTile, kThreads>(to + kTileBytes, v + at * a.v.stride, a.v.stride,
                                                 span.keys - at);
    commit_copies();
  };
  fetch(0);
  Rows<kDepth> q, dout;
  const int64_t row = span.q_first + first;
  q.load(static_cast<const T*>(a.q.data) + row * a.q.stride + head_at, a.q.stride, there);
  dout.load(static_cast<const T*>(a.dout) + row * width + head_at, width, there);
  const QueryFacts facts(dout, static_cast<const T*>(a.out) + row * width + head_at, width,
                         a.log_sums + row * shape.heads + head, shape.heads, there);
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = lane / 4 + 8 * half;
    if (lane % 4 == 0 && at < there) means[(row + at) * shape.heads + head] = facts.mean[half];
  }
  const KeptRows kept(shape, a, row, head, there);
  float sums[kDepth / 8][4] = {};
  const int tiles = (span.keys + kTile - 1) / kTile;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      fetch(tile + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    __syncthreads();
    const uint32_t keys = base + static_cast<uint32_t>(tile & 1) * 2 * kTileBytes;
    if (there > 0) {
      query_gradient_tile<kTile, kDepth, T>(sums, q, dout, facts, kept, shape.scale * kLog2E, keys,
                                            keys + kTileBytes, span.keys - tile * kTile,
                                            tile * kTile);
    }
    __syncthreads();
  }
  if (there <= 0) return;
  store_rows<kDepth>(sums, shape.scale, shape.scale, dq + first * a.dq.stride, a.dq.stride, there);
}

/// 4 bytes to shared memory behind the thread's back; zero where `there` is false.
__device__ __forceinline__ void copy_word_async(float* to, const float* from, bool there) {
  const int bytes = there ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(shared_address(to)),
               "l"(from), "r"(bytes));
}

template <typename T, int kDepth>
__global__ void __launch_bounds__(kThreads, kDepth <= 64 ? 3 : 2)
    key_gradient_kernel(AttentionShape shape, AttentionBackward a, const float* means) {
  extern __shared__ __align__(256) char shared[];
  __shared__ __align__(16) float tile_sums[2][kTile], tile_means[2][kTile];
  constexpr uint32_t kTileBytes = kTile * kDepth * 2;
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
  if (static_cast<int>(blockIdx.x) * kOwn >= span.keys) return;
  const int first = static_cast<int>(blockIdx.x * kOwn + threadIdx.x / 32 * 16);
  const int there = span.keys - first;
  const T* q = static_cast<const T*>(a.q.data) + span.q_first * a.q.stride + head_at;
  const T* dout = static_cast<const T*>(a.dout) + span.q_first * width + head_at;
  const uint32_t base = shared_address(shared);
  const auto fetch = [&](int tile) {
    const uint32_t to = base + static_cast<uint32_t>(tile & 1) * 2 * kTileBytes;
    const int at = tile * kTile, i = static_cast<int>(threadIdx.x) % kTile;
    Tile<kDepth>::template load<kTile, kThreads>(to, q + at * a.q.stride, a.q.stride,
                                                 span.queries - at);
    Tile<kDepth>::template load<kTile, kThreads>(to + kTileBytes, dout + at * width, width,
                                                 span.queries - at);
    const bool exists = at + i < span.queries;
    const int64_t from = exists ? (span.q_first + at + i) * shape.heads + head : 0;
    if (threadIdx.x < kTile) {
      copy_word_async(&tile_sums[tile & 1][i], a.log_sums + from, exists);
    } else {
      copy_word_async(&tile_means[tile & 1][i], means + from, exists);
    }
    commit_copies();
  };
  fetch(0);
  Rows<kDepth> k, v;
  const int64_t row = span.k_first + first;
  k.load(static_cast<const T*>(a.k.data) + row * a.k.stride + head_at, a.k.stride, there);
  v.load(static_cast<const T*>(a.v.data) + row * a.v.stride + head_at, a.v.stride, there);
  float dk_sums[kDepth / 8][4] = {}, dv_sums[kDepth / 8][4] = {};
  const int tiles = (span.queries + kTile - 1) / kTile;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      fetch(tile + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    __syncthreads();
    const uint32_t queries = base + static_cast<uint32_t>(tile & 1) * 2 * kTileBytes;
    if (there > 0) {
      const KeptTile kept(shape, a, span.q_first + tile * kTile, head, first);
      key_gradient_tile<kTile, kDepth, T>(dk_sums, dv_sums, k, v, kept, shape.scale * kLog2E,
                                          queries, queries + kTileBytes, tile_sums[tile & 1],
                                          tile_means[tile & 1], span.queries - tile * kTile,
                                          first);
    }
    __syncthreads();
  }
  if (there <= 0) return;
  store_rows<kDepth>(dk_sums, shape.scale, shape.scale, dk + first * a.dk.stride, a.dk.stride,
                     there);
  const float kept_scale = 1.0f / (1.0f - a.dropout.p);
  store_rows<kDepth>(dv_sums, kept_scale, kept_scale, dv + first * a.dv.stride, a.dv.stride,
                     there);
}

template <typename Kernel, typename Means>
Status launch(Kernel kernel, int64_t longest, int bytes, const AttentionShape& shape,
              const AttentionBackward& arrays, Means* means, Stream stream) {
  if (bytes > 40 * 1024) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  }
  const int64_t tiles = ceil_div(longest, kOwn);
  const dim3 grid(static_cast<unsigned>(tiles > 0 ? tiles : 1),
                  static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.sequences + 1));
  kernel<<<grid, kThreads, static_cast<size_t>(bytes), stream_of(stream)>>>(shape, arrays, means);
  return launched();
}

}  // namespace

Status attention_backward_flash(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream) {
  auto* means = static_cast<float*>(workspace);
  return by_flash_heads(shape, [&](auto* type, auto depth) {
    using T = std::remove_pointer_t<decltype(type)>;
    constexpr int kBytes = 4 * kTile * depth.value * 2;
    const Status status = launch(query_gradient_kernel<T, depth.value>, shape.longest_q, kBytes,
                                 shape, arrays, means, stream);
    if (status) return status;
    return launch(key_gradient_kernel<T, depth.value>, shape.longest_k, kBytes, shape, arrays,
                  static_cast<const float*>(means), stream);
  });
}

}  // namespace hone::kernels::cuda
