// The backward pass where a block holds one head of a whole sequence: queries, keys, values and
// output gradients lie in shared memory at once. A warp first has 16 queries at a time and computes
// their gradient, then 16 keys and computes theirs.

#include "kernels/cuda/attention_gradients.cuh"

namespace hone::kernels::cuda {
namespace {

template <class Products, typename T, int kDepth, int kWarps, int kRows>
__global__ void __launch_bounds__(kWarps * 32, (kDepth <= 64 ? 12 : 8) / kWarps)
    whole_backward_kernel(const __grid_constant__ AttentionShape shape,
                          const __grid_constant__ AttentionBackward a) {
  constexpr int kThreads = kWarps * 32, kWide = 32;
  using Shared = Tile<kRows, kDepth>;
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
  const T* q = static_cast<const T*>(a.q.data) + span.q_first * a.q.stride + head_at;
  const T* k = static_cast<const T*>(a.k.data) + span.k_first * a.k.stride + head_at;
  const T* v = static_cast<const T*>(a.v.data) + span.k_first * a.v.stride + head_at;
  const T* out = static_cast<const T*>(a.out) + span.q_first * width + head_at;
  const T* dout = static_cast<const T*>(a.dout) + span.q_first * width + head_at;
  const uint32_t keys = tile_base(shared), values = keys + Shared::kBytes,
                 queries = values + Shared::kBytes, douts = queries + Shared::kBytes;
  Shared::template load<kThreads>(keys, k, a.k.stride, span.keys);
  Shared::template load<kThreads>(values, v, a.v.stride, span.keys);
  Shared::template load<kThreads>(queries, q, a.q.stride, span.queries);
  Shared::template load<kThreads>(douts, dout, width, span.queries);
  const bool drop = a.dropout.p > 0.0f;
  if (drop) {
    fetch_kept<kRows / 32, kRows, kThreads>(words[0], shape, a.kept, head, span.q_first,
                                            span.queries, 0);
  }
  commit_copies();
  // Rows that no query has get zeros.
  for (int row = span.queries + static_cast<int>(threadIdx.x); row < kRows; row += kThreads) {
    facts[row] = {0.0f, 0.0f};
  }
  const int warp_first = static_cast<int>(threadIdx.x / 32) * 16;
  const float scale_log2 = shape.scale * kLog2E, kept_scale = 1.0f / (1.0f - a.dropout.p);
  wait_copies<0>();
  __syncthreads();
#pragma unroll 1
  for (int first = warp_first; first < kRows && first < span.queries; first += kWarps * 16) {
    const int there = span.queries - first;
    Rows<kDepth> own_q, own_dout;
    own_q.load(q + first * a.q.stride, a.q.stride, there);
    own_dout.load(dout + first * width, width, there);
    const QueryFacts own(own_dout, out + first * width, width,
                         a.log_sums + (span.q_first + first) * shape.heads + head, shape.heads,
                         there);
    own.write(facts + first, there);
    const Kept kept{drop ? words[0] + first : nullptr, kRows, kept_scale};
    float sums[kDepth / 8][4] = {};
    query_gradient_tile<Products, Shared, kRows, kWide, T, kDepth>(
        sums, own_q, own_dout, own, kept, scale_log2, keys, values, span.keys);
    store_rows<kDepth>(sums, shape.scale, shape.scale, dq + first * a.dq.stride, a.dq.stride,
                       there);
  }
  __syncthreads();
#pragma unroll 1
  for (int first = warp_first; first < kRows && first < span.keys; first += kWarps * 16) {
    const int there = span.keys - first;
    Rows<kDepth> own_k, own_v;
    own_k.load(k + first * a.k.stride, a.k.stride, there);
    own_v.load(v + first * a.v.stride, a.v.stride, there);
    const Kept kept{drop ? words[first / 32] : nullptr, 0, kept_scale};
    float dk_sums[kDepth / 8][4] = {}, dv_sums[kDepth / 8][4] = {};
    key_gradient_tile<Products, Shared, kRows, kWide, T, kDepth>(dk_sums, dv_sums, own_k, own_v,
                                                                 kept, scale_log2, queries, douts,
                                                                 facts, span.queries, first);
    store_rows<kDepth>(dk_sums, shape.scale, shape.scale, dk + first * a.dk.stride, a.dk.stride,
                       there);
    store_rows<kDepth>(dv_sums, kept_scale, kept_scale, dv + first * a.dv.stride, a.dv.stride,
                       there);
  }
}

template <typename T, int kDepth, int kWarps, int kRows>
Status launch(const AttentionShape& shape, const AttentionBackward& arrays, Stream stream) {
  const auto kernel = whole_backward_kernel<WarpProducts<T>, T, kDepth, kWarps, kRows>;
  constexpr int kBytes = 4 * kRows * kDepth * 2 + 1024;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const dim3 grid(1, static_cast<unsigned>(shape.heads),
                  static_cast<unsigned>(shape.sequences + 1));
  kernel<<<grid, kWarps * 32, kBytes, stream_of(stream)>>>(shape, arrays);
  return launched();
}

}  // namespace

Status attention_backward_whole(const AttentionShape& shape, const AttentionBackward& arrays,
                                Stream stream) {
  const int64_t longest = shape.longest_q > shape.longest_k ? shape.longest_q : shape.longest_k;
  if (longest > kWholeSequence) return "sequences too long for one block";
  return by_flash_heads(shape, [&](auto* type, auto depth) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (longest <= 32) return launch<T, depth.value, 2, 32>(shape, arrays, stream);
    if (longest <= 64) return launch<T, depth.value, 4, 64>(shape, arrays, stream);
    return launch<T, depth.value, 4, 128>(shape, arrays, stream);
  });
}

}  // namespace hone::kernels::cuda
