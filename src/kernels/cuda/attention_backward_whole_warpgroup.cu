// The backward pass where a block holds one head of a whole sequence, by wgmma: a warpgroup has 64
// keys, computes their gradients and leaves those of the scores in shared memory, which the
// queries' gradients are multiplied from behind a barrier. Nothing is computed twice.

#include "kernels/cuda/attention_gradients.cuh"
#include "kernels/cuda/warpgroup.cuh"

namespace hone::kernels::cuda {
namespace {

/// Writes gradients of scores to shared memory, [keys][64] for each 64 queries.
template <class Scores>
struct KeepScores {
  uint32_t to;
  int own;    ///< the warp's first key
  int there;  ///< keys from there on that exist

  template <int kSteps>
  __device__ __forceinline__ void operator()(int at, const uint32_t (&ds)[kSteps][4]) const {
#pragma unroll
    for (int i = 0; i < 4 * kSteps; ++i) {
      const int row = lane_row() + 8 * (i % 2), piece = (at % 64) / 8 + i / 2;
      const uint32_t offset = at / 64 * Scores::kBytes + Scores::offset(own + row, piece);
      asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(to + offset + 2 * lane_column()),
                   "r"(row < there ? ds[i / 4][i % 4] : 0u)
                   : "memory");
    }
  }
};

template <typename T, int kDepth, int kGroups>
__global__ void __launch_bounds__(kGroups * 128, 2 / kGroups)
    whole_backward_kernel(const __grid_constant__ AttentionShape shape,
                          const __grid_constant__ AttentionBackward a) {
  using Products = GroupProducts<T>;
  constexpr int kRows = kGroups * 64, kThreads = kGroups * 128, kWide = 64;
  using Shared = Tile<kRows, kDepth>;
  using Scores = Tile<kRows, 64>;
  extern __shared__ char shared[];
  __shared__ __align__(16) QueryFact facts[kRows];
  __shared__ __align__(16) uint32_t words[kRows / 32][kRows];
  const int64_t sequence = blockIdx.z;
  const int head = static_cast<int>(blockIdx.y);
  const Span span(shape, sequence);
  const int64_t width = shape.heads * kDepth, head_at = head * kDepth;
  T* dq = static_cast<T*>(a.dq.data) + span.q_first * a.dq.stride + head_at;
  T* dk = static_cast<T*>(a.dk.data) + span.k_first * a.dk.stride + head_at;
  T* dv = static_cast<T*>(a.dv.data) + span.k_first * a.dv.stride + head_at;
  if (sequence == shape.sequences || span.keys == 0 || span.queries == 0) {
    zero_head_rows(dq, a.dq.stride, span.queries, kDepth, 0, 1);
    zero_head_rows(dk, a.dk.stride, span.keys, kDepth, 0, 1);
    zero_head_rows(dv, a.dv.stride, span.keys, kDepth, 0, 1);
    return;
  }
  const T* dout = static_cast<const T*>(a.dout) + span.q_first * width + head_at;
  const uint32_t keys = tile_base(shared), values = keys + Shared::kBytes,
                 queries = values + Shared::kBytes, douts = queries + Shared::kBytes,
                 scores = douts + Shared::kBytes;
  const auto rows_of = [&](const HeadRows& rows, int64_t first) {
    return static_cast<const T*>(rows.data) + first * rows.stride + head_at;
  };
  Shared::template load<kThreads>(keys, rows_of(a.k, span.k_first), a.k.stride, span.keys);
  Shared::template load<kThreads>(values, rows_of(a.v, span.k_first), a.v.stride, span.keys);
  Shared::template load<kThreads>(queries, rows_of(a.q, span.q_first), a.q.stride, span.queries);
  Shared::template load<kThreads>(douts, dout, width, span.queries);
  const bool drop = a.dropout.p > 0.0f;
  if (drop) {
    fetch_kept<kRows / 32, kRows, kThreads>(words[0], shape, a.kept, head, span.q_first,
                                            span.queries, 0);
  }
  commit_copies();
  const int own = static_cast<int>(threadIdx.x) / 32 * 16, group = own / 64 * 64;
  {
    const int there = span.queries - own;
    Rows<kDepth> own_dout;
    own_dout.load(dout + own * width, width, there);
    const QueryFacts mine(
        own_dout, static_cast<const T*>(a.out) + (span.q_first + own) * width + head_at, width,
        a.log_sums + (span.q_first + own) * shape.heads + head, shape.heads, there);
    mine.write(facts + own, there);
    if (threadIdx.x % 32 < 16 && static_cast<int>(threadIdx.x % 32) >= there) {
      facts[own + threadIdx.x % 32] = {0.0f, 0.0f};
    }
  }
  const float kept_scale = 1.0f / (1.0f - a.dropout.p);
  wait_copies<0>();
  publish_shared();
  __syncthreads();
  if (group < span.keys) {
    const int there = span.keys - own;
    Rows<kDepth> k, v;
    k.template load_shared<Shared>(keys, own);
    v.template load_shared<Shared>(values, own);
    const Kept kept{drop ? words[own / 32] : nullptr, 0, kept_scale};
    float dk_sums[kDepth / 8][4] = {}, dv_sums[kDepth / 8][4] = {};
    key_gradient_tile<Products, Shared, kRows, kWide, T, kDepth>(
        dk_sums, dv_sums, k, v, kept, shape.scale * kLog2E, queries, douts, facts, span.queries,
        own, KeepScores<Scores>{scores, own, there});
    store_rows<kDepth>(dk_sums, shape.scale, shape.scale, dk + own * a.dk.stride, a.dk.stride,
                       there);
    store_rows<kDepth>(dv_sums, kept_scale, kept_scale, dv + own * a.dv.stride, a.dv.stride, there);
  }
  publish_shared();
  __syncthreads();
  if (group >= span.queries) return;
  float sums[kDepth / 8][4] = {};
  Products::begin();
#pragma unroll 1
  for (int first = 0; first < span.keys; first += 64) {
    Products::template add_shared<Scores, Shared, 64>(
        sums, scores + static_cast<uint32_t>(group / 64 * Scores::kBytes), keys, first);
  }
  Products::finish(sums);
  store_rows<kDepth>(sums, shape.scale, shape.scale, dq + own * a.dq.stride, a.dq.stride,
                     span.queries - own);
}

template <typename T, int kDepth, int kGroups>
Status launch(const AttentionShape& shape, const AttentionBackward& arrays, Stream stream) {
  const auto kernel = whole_backward_kernel<T, kDepth, kGroups>;
  constexpr int kRows = kGroups * 64;
  constexpr int kBytes = 4 * kRows * kDepth * 2 + kRows * kRows * 2 + 1024;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const dim3 grid(1, static_cast<unsigned>(shape.heads),
                  static_cast<unsigned>(shape.sequences + 1));
  kernel<<<grid, kGroups * 128, kBytes, stream_of(stream)>>>(shape, arrays);
  return launched();
}

}  // namespace

Status attention_backward_whole_warpgroup(const AttentionShape& shape,
                                          const AttentionBackward& arrays, Stream stream) {
  const int64_t longest = std::max(shape.longest_q, shape.longest_k);
  if (longest > kWholeSequence || shape.head_size > 64) return "heads too large for one block";
  return by_flash_heads(shape, [&](auto* type, auto depth) -> Status {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (depth.value <= 64) {
      if (longest <= 64) return launch<T, depth.value, 1>(shape, arrays, stream);
      return launch<T, depth.value, 2>(shape, arrays, stream);
    } else {
      return nullptr;
    }
  });
}

}  // namespace hone::kernels::cuda
