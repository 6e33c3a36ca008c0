// Attention of any head size and dtype, plainly, in fp32: a warp a query of one head, lanes over
// keys for the scores and over channels for the sums. For fp32, and for what the tensor-core
// kernels do not take.

#include "kernels/cuda/attention.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kMaxDepth = 256;
constexpr int kPerLane = kMaxDepth / 32;

/// A warp's vectors in shared memory: what the scores are products with.
struct Vectors {
  float first[kMaxDepth];
  float second[kMaxDepth];
};

template <typename T>
__device__ __forceinline__ void load_vector(float* to, const T* from, int depth) {
  for (int i = static_cast<int>(threadIdx.x % 32); i < depth; i += 32) to[i] = to_float(from[i]);
}

template <typename T>
__device__ __forceinline__ float dot(const float* a, const T* b, int depth) {
  float sum = 0.0f;
#pragma unroll 8
  for (int i = 0; i < depth; ++i) sum = fmaf(a[i], to_float(b[i]), sum);
  return sum;
}

/// sums += weight * row over the lane's channels.
template <typename T>
__device__ __forceinline__ void add_row(float (&sums)[kPerLane], float weight, const T* row,
                                        int depth) {
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int c = static_cast<int>(threadIdx.x % 32) + 32 * i;
    if (c < depth) sums[i] = fmaf(weight, to_float(row[c]), sums[i]);
  }
}

template <typename T>
__device__ __forceinline__ void store_sums(T* to, const float (&sums)[kPerLane], float factor,
                                           int depth) {
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int c = static_cast<int>(threadIdx.x % 32) + 32 * i;
    if (c < depth) to[c] = from_float<T>(sums[i] * factor);
  }
}

/// A key's factor: 0 or 1 / (1 - p).
__device__ __forceinline__ float keep_factor(const Dropper& drop, const DropShare& share,
                                             int64_t row, int head, int key) {
  if (!drop.active) return 1.0f;
  const uint32_t kept = draw_kept(share, drop.key, static_cast<uint64_t>(drop.samples[row]),
                                  static_cast<uint32_t>(drop.positions[row]), head, key / 32);
  return kept >> kept_bit(key % 32) & 1u ? drop.scale : 0.0f;
}

template <typename T>
struct Head {
  int depth, head;
  int64_t at;
  __device__ __forceinline__ Head(const AttentionShape& shape)
      : depth(static_cast<int>(shape.head_size)),
        head(static_cast<int>(blockIdx.y)),
        at(int64_t{blockIdx.y} * shape.head_size) {}
  __device__ __forceinline__ const T* row(const HeadRows& rows, int64_t i) const {
    return static_cast<const T*>(rows.data) + i * rows.stride + at;
  }
  __device__ __forceinline__ T* row(const HeadGradients& rows, int64_t i) const {
    return static_cast<T*>(rows.data) + i * rows.stride + at;
  }
};

template <typename T>
__global__ void __launch_bounds__(kWarps * 32)
    plain_kernel(AttentionShape shape, AttentionForward a, DropShare share) {
  __shared__ Vectors shared[kWarps];
  const Head<T> h(shape);
  const Span span(shape, blockIdx.z);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int index = static_cast<int>(blockIdx.x) * kWarps + warp;
  const int64_t width = shape.heads * shape.head_size;
  T* out = static_cast<T*>(a.out) + span.q_first * width + h.at;
  if (blockIdx.z == shape.sequences) {
    zero_head_rows(out, width, span.queries, h.depth, static_cast<int>(blockIdx.x),
                   static_cast<int>(gridDim.x));
    return;
  }
  if (index >= span.queries) return;
  const int64_t row = span.q_first + index;
  const Dropper drop(a.dropout);
  float* q = shared[warp].first;
  load_vector(q, h.row(a.q, row), h.depth);
  __syncwarp();
  float largest = -INFINITY, total = 0.0f, sums[kPerLane] = {};
  for (int base = 0; base < span.keys; base += 32) {
    const int j = base + lane;
    float score = -INFINITY;
    if (j < span.keys) score = shape.scale * dot(q, h.row(a.k, span.k_first + j), h.depth);
    float now = score;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, offset));
    }
    now = fmaxf(now, largest);
    const float rescale = expf(largest - now);
    const float p = j < span.keys ? expf(score - now) : 0.0f;
    largest = now;
    total = total * rescale + warp_sum(p);
    const float weight = j < span.keys ? p * keep_factor(drop, share, row, h.head, j) : 0.0f;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) sums[i] *= rescale;
    const int there = span.keys - base < 32 ? span.keys - base : 32;
    for (int i = 0; i < there; ++i) {
      add_row(sums, __shfl_sync(0xffffffffu, weight, i), h.row(a.v, span.k_first + base + i),
              h.depth);
    }
  }
  store_sums(out + index * width, sums, span.keys > 0 ? 1.0f / total : 0.0f, h.depth);
  if (a.log_sums && lane == 0) {
    a.log_sums[row * shape.heads + h.head] = span.keys > 0 ? largest + logf(total) : -INFINITY;
  }
}

/// dq, and dout . out to the workspace.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32)
    plain_query_kernel(AttentionShape shape, AttentionBackward a, DropShare share, float* means) {
  __shared__ Vectors shared[kWarps];
  const Head<T> h(shape);
  const Span span(shape, blockIdx.z);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int index = static_cast<int>(blockIdx.x) * kWarps + warp;
  const int64_t width = shape.heads * shape.head_size;
  if (blockIdx.z == shape.sequences) {
    zero_head_rows(h.row(a.dq, span.q_first), a.dq.stride, span.queries, h.depth,
                   static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
    return;
  }
  if (index >= span.queries) return;
  const int64_t row = span.q_first + index;
  const Dropper drop(a.dropout);
  Vectors& mine = shared[warp];
  load_vector(mine.first, h.row(a.q, row), h.depth);
  load_vector(mine.second, static_cast<const T*>(a.dout) + row * width + h.at, h.depth);
  __syncwarp();
  const T* out = static_cast<const T*>(a.out) + row * width + h.at;
  float mean = 0.0f;
  for (int i = lane; i < h.depth; i += 32) mean += mine.second[i] * to_float(out[i]);
  mean = warp_sum(mean);
  if (lane == 0) means[row * shape.heads + h.head] = mean;
  const float log_sum = a.log_sums[row * shape.heads + h.head];
  float sums[kPerLane] = {};
  for (int base = 0; base < span.keys; base += 32) {
    const int j = base + lane;
    float ds = 0.0f;
    if (j < span.keys) {
      const float score = shape.scale * dot(mine.first, h.row(a.k, span.k_first + j), h.depth);
      const float dp = dot(mine.second, h.row(a.v, span.k_first + j), h.depth);
      ds = expf(score - log_sum) * (dp * keep_factor(drop, share, row, h.head, j) - mean);
    }
    const int there = span.keys - base < 32 ? span.keys - base : 32;
    for (int i = 0; i < there; ++i) {
      add_row(sums, __shfl_sync(0xffffffffu, ds, i), h.row(a.k, span.k_first + base + i), h.depth);
    }
  }
  store_sums(h.row(a.dq, row), sums, shape.scale, h.depth);
}

/// dk and dv: a warp a key, lanes over queries.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32)
    plain_key_kernel(AttentionShape shape, AttentionBackward a, DropShare share,
                     const float* means) {
  __shared__ Vectors shared[kWarps];
  const Head<T> h(shape);
  const Span span(shape, blockIdx.z);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int index = static_cast<int>(blockIdx.x) * kWarps + warp;
  const int64_t width = shape.heads * shape.head_size;
  if (blockIdx.z == shape.sequences) {
    const int part = static_cast<int>(blockIdx.x), parts = static_cast<int>(gridDim.x);
    zero_head_rows(h.row(a.dk, span.k_first), a.dk.stride, span.keys, h.depth, part, parts);
    zero_head_rows(h.row(a.dv, span.k_first), a.dv.stride, span.keys, h.depth, part, parts);
    return;
  }
  if (index >= span.keys) return;
  const int64_t row = span.k_first + index;
  const Dropper drop(a.dropout);
  Vectors& mine = shared[warp];
  load_vector(mine.first, h.row(a.k, row), h.depth);
  load_vector(mine.second, h.row(a.v, row), h.depth);
  __syncwarp();
  const HeadRows dout = {a.dout, width};
  float dk[kPerLane] = {}, dv[kPerLane] = {};
  for (int base = 0; base < span.queries; base += 32) {
    const int i = base + lane;
    float p = 0.0f, ds = 0.0f;
    if (i < span.queries) {
      const int64_t query = span.q_first + i;
      const int64_t fact = query * shape.heads + h.head;
      const float score = shape.scale * dot(mine.first, h.row(a.q, query), h.depth);
      const float dp = dot(mine.second, h.row(dout, query), h.depth);
      const float factor = keep_factor(drop, share, query, h.head, index);
      p = expf(score - a.log_sums[fact]);
      ds = p * (dp * factor - means[fact]);
      p *= factor;
    }
    const int there = span.queries - base < 32 ? span.queries - base : 32;
    for (int j = 0; j < there; ++j) {
      const int64_t query = span.q_first + base + j;
      add_row(dk, __shfl_sync(0xffffffffu, ds, j), h.row(a.q, query), h.depth);
      add_row(dv, __shfl_sync(0xffffffffu, p, j), h.row(dout, query), h.depth);
    }
  }
  store_sums(h.row(a.dk, row), dk, shape.scale, h.depth);
  store_sums(h.row(a.dv, row), dv, 1.0f, h.depth);
}

dim3 grid_of(const AttentionShape& shape, int64_t longest) {
  const int64_t blocks = ceil_div(longest, kWarps);
  return dim3(static_cast<unsigned>(blocks > 0 ? blocks : 1), static_cast<unsigned>(shape.heads),
              static_cast<unsigned>(shape.sequences + 1));
}

}  // namespace

Status attention_plain(const AttentionShape& shape, const AttentionForward& arrays, Stream stream) {
  return by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    plain_kernel<T><<<grid_of(shape, shape.longest_q), kWarps * 32, 0, stream_of(stream)>>>(
        shape, arrays, drop_share(arrays.dropout.p));
    return launched();
  });
}

Status attention_backward_plain(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream) {
  auto* means = static_cast<float*>(workspace);
  return by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    plain_query_kernel<T><<<grid_of(shape, shape.longest_q), kWarps * 32, 0, stream_of(stream)>>>(
        shape, arrays, drop_share(arrays.dropout.p), means);
    if (const Status status = launched()) return status;
    plain_key_kernel<T><<<grid_of(shape, shape.longest_k), kWarps * 32, 0, stream_of(stream)>>>(
        shape, arrays, drop_share(arrays.dropout.p), means);
    return launched();
  });
}

}  // namespace hone::kernels::cuda
