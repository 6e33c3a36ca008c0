// The gradient of relative positions' embeddings, plainly: a block has a distance, a warp at a time
// the pairs of one sequence and head that lie so far apart, lanes go over channels.

#include "kernels/cuda/attention_plain.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kDistanceWarps = 8;

template <typename T>
__global__ void __launch_bounds__(kDistanceWarps * 32)
    distance_kernel(AttentionShape shape, AttentionBackward a, DropShare share,
                    const float* means) {
  __shared__ float shared[kDistanceWarps][kMaxDepth];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int depth = static_cast<int>(shape.head_size);
  const int64_t width = shape.heads * depth, apart = blockIdx.x - (a.relative.positions - 1);
  if ((apart < 0 ? -apart : apart) >= shape.longest_k) return;
  const float* e = a.relative.distances + int64_t{blockIdx.x} * depth;
  const float keys_too = a.relative.with_keys ? 1.0f : 0.0f;
  const Dropper drop(a.dropout);
  float sums[kPerLane] = {};
  for (int64_t pair = warp; pair < shape.sequences * shape.heads; pair += kDistanceWarps) {
    const int64_t head = pair % shape.heads, at = head * depth;
    const Span span(shape, pair / shape.heads);
    for (int base = 0; base < span.queries; base += 32) {
      const int mine = base + lane;
      int64_t key = -1;
      if (mine < span.queries) key = place_of(a.relative, span.q_first, mine) - apart;
      uint32_t found = __ballot_sync(0xffffffffu, key >= 0 && key < span.keys);
      for (; found; found &= found - 1) {
        const int source = __ffs(static_cast<int>(found)) - 1;
        const int64_t j = __shfl_sync(0xffffffffu, key, source);
        const int64_t row = span.q_first + base + source, fact = row * shape.heads + head;
        const T* q = static_cast<const T*>(a.q.data) + row * a.q.stride + at;
        const T* k = static_cast<const T*>(a.k.data) + (span.k_first + j) * a.k.stride + at;
        const T* v = static_cast<const T*>(a.v.data) + (span.k_first + j) * a.v.stride + at;
        const T* dout = static_cast<const T*>(a.dout) + row * width + at;
        float score = 0.0f, dp = 0.0f;
        for (int c = lane; c < depth; c += 32) {
          const float qc = to_float(q[c]), kc = to_float(k[c]);
          score = fmaf(qc, kc, fmaf(e[c], qc + keys_too * kc, score));
          dp = fmaf(to_float(dout[c]), to_float(v[c]), dp);
        }
        score = shape.scale * warp_sum(score);
        dp = warp_sum(dp) *
             keep_factor(drop, share, row, static_cast<int>(head), static_cast<int>(j));
        const float ds = expf(score - a.log_sums[fact]) * (dp - means[fact]);
        add_row(sums, ds, q, depth);
        if (a.relative.with_keys) add_row(sums, ds, k, depth);
      }
    }
  }
  store_sums(shared[warp], sums, shape.scale, depth);
  __syncthreads();
  float* out = a.ddistances + int64_t{blockIdx.x} * depth;
  const bool adds = !a.touched || a.touched[blockIdx.x] != 0;
  for (int c = static_cast<int>(threadIdx.x); c < depth; c += kDistanceWarps * 32) {
    float total = 0.0f;
    for (int i = 0; i < kDistanceWarps; ++i) total += shared[i][c];
    out[c] = adds ? out[c] + total : total;
  }
  __syncthreads();
  if (a.touched && threadIdx.x == 0) a.touched[blockIdx.x] = 1;
}

}  // namespace

Status distance_gradients(const AttentionShape& shape, const AttentionBackward& arrays,
                          const float* means, Stream stream) {
  const auto blocks = static_cast<unsigned>(2 * arrays.relative.positions - 1);
  return by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    distance_kernel<T><<<blocks, kDistanceWarps * 32, 0, stream_of(stream)>>>(
        shape, arrays, drop_share(arrays.dropout.p), means);
    return launched();
  });
}

}  // namespace hone::kernels::cuda
