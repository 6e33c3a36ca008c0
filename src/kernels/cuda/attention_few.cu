// Attention of inference over sequences of at most 64 tokens, where what counts is how long one
// takes: a block is one warp with 16 queries of a head. Queries and keys come from memory as the
// fragments of products: a lane reads 16 bytes of a row, which serve it as fragments of two
// products of depth 16. That permutes the depth of both sides alike, which a sum over it does not
// see. Values come through shared memory, which turns them round.

#include "kernels/cuda/attention_tiles.cuh"
#include "kernels/cuda/early_launch.cuh"

namespace hone::kernels::cuda {
namespace {

/// Reads eight rows' fragments for two products of depth 16 in each 16 bytes: a lane has row lane /
/// 4 of `rows`, and rows behind the last are copies of it.
template <int kDepth, typename T>
__device__ __forceinline__ void load_fragments(uint4 (&to)[kDepth / 32], const T* from,
                                               int64_t stride, int row, int last) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const T* at = from + min(row + lane / 4, last) * stride + lane % 4 * 8;
#pragma unroll
  for (int i = 0; i < kDepth / 32; ++i) to[i] = *reinterpret_cast<const uint4*>(at + 32 * i);
}

template <typename T, int kDepth, int kKeys>
__global__ void __launch_bounds__(32) few_kernel(AttentionShape shape, AttentionForward a) {
  using Values = Tile<kKeys, kDepth>;
  __shared__ __align__(1024) char values[Values::kBytes];
  const int64_t sequence = blockIdx.z;
  const int head = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x);
  let_next_kernel_start();
  const Span span(shape, sequence);
  const int64_t width = shape.heads * kDepth;
  T* out = static_cast<T*>(a.out) + span.q_first * width + head * kDepth;
  const int first = static_cast<int>(blockIdx.y) * 16, there = span.queries - first;
  const T* q = static_cast<const T*>(a.q.data) + span.q_first * a.q.stride + head * kDepth;
  const T* k = static_cast<const T*>(a.k.data) + span.k_first * a.k.stride + head * kDepth;
  const T* v = static_cast<const T*>(a.v.data) + span.k_first * a.v.stride + head * kDepth;
  wait_for_kernel_before();
  if (sequence == shape.sequences || span.keys == 0) {
    zero_head_rows(out, width, span.queries, kDepth, static_cast<int>(blockIdx.y),
                   static_cast<int>(gridDim.y));
    return;
  }
  if (there <= 0) return;

  uint4 queries[2][kDepth / 32], keys[kKeys / 8][kDepth / 32];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    load_fragments<kDepth>(queries[half], q, a.q.stride, first + 8 * half, span.queries - 1);
  }
#pragma unroll
  for (int j = 0; j < kKeys / 8; ++j) {
    load_fragments<kDepth>(keys[j], k, a.k.stride, 8 * j, span.keys - 1);
  }
  const uint32_t tile = shared_address(values);
  Values::template load<32>(tile, v, a.v.stride, span.keys);
  commit_copies();

  float s[kKeys / 8][4] = {};  // rows lane / 4 and that + 8, keys 8 j + 2 (lane % 4) and the next
#pragma unroll
  for (int i = 0; i < kDepth / 32; ++i) {
    const uint4 low = queries[0][i], high = queries[1][i];
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j) {
      mma<T>(s[j], {low.x, high.x, low.y, high.y}, keys[j][i].x, keys[j][i].y);
      mma<T>(s[j], {low.z, high.z, low.w, high.w}, keys[j][i].z, keys[j][i].w);
    }
  }
  const float scale_log2 = shape.scale * kLog2E;
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = -INFINITY;
#pragma unroll
    for (int j = 0; j < 2 * (kKeys / 8); ++j) {
      float& value = s[j / 2][2 * half + j % 2];
      if (8 * (j / 2) + lane % 4 * 2 + j % 2 >= span.keys) value = -INFINITY;
      largest = fmaxf(largest, value);
    }
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2)) * scale_log2;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 2 * (kKeys / 8); ++j) {
      float& value = s[j / 2][2 * half + j % 2];
      value = exp2_fast(fmaf(value, scale_log2, -largest));
      sum += value;
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    factor[half] = 1.0f / sum;
  }

  wait_copies<0>();
  __syncwarp();
  float sums[kDepth / 8][4] = {};
#pragma unroll
  for (int pair = 0; pair < kKeys / 16; ++pair) {
    const float *p = s[2 * pair], *r = s[2 * pair + 1];
    const uint32_t fragment[4] = {pack_pair<T>(p[0], p[1]), pack_pair<T>(p[2], p[3]),
                                  pack_pair<T>(r[0], r[1]), pack_pair<T>(r[2], r[3])};
    const int row =
        16 * pair + lane % 16;  // matrices: keys 0 to 7, 8 to 15, then the next 8 columns
#pragma unroll
    for (int d = 0; d < kDepth / 8; d += 2) {
      uint32_t b[4];
      load_matrices_transposed(b, tile + Values::offset(row, d + lane / 16));
      mma<T>(sums[d], fragment, b[0], b[1]);
      mma<T>(sums[d + 1], fragment, b[2], b[3]);
    }
  }
  store_rows<kDepth>(sums, factor[0], factor[1], out + first * width, width, there);
}

template <typename T, int kDepth, int kKeys>
Status launch(const AttentionShape& shape, const AttentionForward& arrays, Stream stream) {
  const int64_t tiles = ceil_div(shape.longest_q, 16);
  const dim3 grid(static_cast<unsigned>(shape.heads), static_cast<unsigned>(tiles > 0 ? tiles : 1),
                  static_cast<unsigned>(shape.sequences + 1));
  return launch_early(few_kernel<T, kDepth, kKeys>, {grid, 32}, stream, shape, arrays);
}

}  // namespace

Status attention_few(const AttentionShape& shape, const AttentionForward& arrays, Stream stream) {
  return by_flash_heads(shape, [&](auto* type, auto depth) {
    using T = std::remove_pointer_t<decltype(type)>;
    constexpr int kDepth = depth.value;
    return shape.longest_k <= 32 ? launch<T, kDepth, 32>(shape, arrays, stream)
                                 : launch<T, kDepth, 64>(shape, arrays, stream);
  });
}

}  // namespace hone::kernels::cuda
