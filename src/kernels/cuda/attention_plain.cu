// Attention of any head size and dtype, plainly, in fp32: a warp has a query of one head, its lanes
// go over keys for the scores and over channels for the sums. It serves fp32, and what the
// tensor-core kernels do not take, relative positions above all.

#include "kernels/cuda/attention_plain.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kRelative, typename T>
__global__ void __launch_bounds__(kPlainWarps * 32)
    plain_kernel(AttentionShape shape, AttentionForward a, DropShare share) {
  __shared__ Vectors shared[kPlainWarps];
  const Head<T> h(shape);
  const Span span(shape, blockIdx.z);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int index = static_cast<int>(blockIdx.x) * kPlainWarps + warp;
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
  const float keys_too = a.relative.with_keys ? 1.0f : 0.0f;
  const float* e = nullptr;
  if (kRelative) {
    e = first_distance(a.relative, place_of(a.relative, span.q_first, index), h.depth);
  }
  float largest = -INFINITY, total = 0.0f, sums[kPerLane] = {};
  for (int base = 0; base < span.keys; base += 32) {
    const int j = base + lane;
    float score = -INFINITY;
    if (j < span.keys) {
      score = shape.scale * score_of<kRelative>(q, h.row(a.k, span.k_first + j), e - j * h.depth,
                                                1.0f, keys_too, h.depth);
    }
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

/// Computes dq, and writes dout . out to the workspace.
template <bool kRelative, typename T>
__global__ void __launch_bounds__(kPlainWarps * 32)
    plain_query_kernel(AttentionShape shape, AttentionBackward a, DropShare share, float* means) {
  __shared__ Vectors shared[kPlainWarps];
  const Head<T> h(shape);
  const Span span(shape, blockIdx.z);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int index = static_cast<int>(blockIdx.x) * kPlainWarps + warp;
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
  const float keys_too = a.relative.with_keys ? 1.0f : 0.0f;
  const float* e = nullptr;
  if (kRelative) {
    e = first_distance(a.relative, place_of(a.relative, span.q_first, index), h.depth);
  }
  float sums[kPerLane] = {};
  for (int base = 0; base < span.keys; base += 32) {
    const int j = base + lane;
    float ds = 0.0f;
    if (j < span.keys) {
      const float score =
          shape.scale * score_of<kRelative>(mine.first, h.row(a.k, span.k_first + j),
                                            e - j * h.depth, 1.0f, keys_too, h.depth);
      const float dp = dot(mine.second, h.row(a.v, span.k_first + j), h.depth);
      ds = expf(score - log_sum) * (dp * keep_factor(drop, share, row, h.head, j) - mean);
    }
    const int there = span.keys - base < 32 ? span.keys - base : 32;
    for (int i = 0; i < there; ++i) {
      const float each = __shfl_sync(0xffffffffu, ds, i);
      add_row(sums, each, h.row(a.k, span.k_first + base + i), h.depth);
      if (kRelative) add_row(sums, each, e - (base + i) * h.depth, h.depth);
    }
  }
  store_sums(h.row(a.dq, row), sums, shape.scale, h.depth);
}

/// Computes dk and dv: a warp has a key, its lanes go over queries.
template <bool kRelative, typename T>
__global__ void __launch_bounds__(kPlainWarps * 32)
    plain_key_kernel(AttentionShape shape, AttentionBackward a, DropShare share,
                     const float* means) {
  __shared__ Vectors shared[kPlainWarps];
  const Head<T> h(shape);
  const Span span(shape, blockIdx.z);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int index = static_cast<int>(blockIdx.x) * kPlainWarps + warp;
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
  const float keys_too = a.relative.with_keys ? 1.0f : 0.0f;
  // Places of queries need not follow one another.
  const auto distance_from = [&](int query) -> const float* {
    if (!kRelative) return nullptr;
    return first_distance(a.relative, place_of(a.relative, span.q_first, query), h.depth) -
           index * h.depth;
  };
  float dk[kPerLane] = {}, dv[kPerLane] = {};
  for (int base = 0; base < span.queries; base += 32) {
    const int i = base + lane;
    float p = 0.0f, ds = 0.0f;
    if (i < span.queries) {
      const int64_t query = span.q_first + i;
      const int64_t fact = query * shape.heads + h.head;
      const float score =
          shape.scale * score_of<kRelative>(mine.first, h.row(a.q, query), distance_from(i),
                                            keys_too, 1.0f, h.depth);
      const float dp = dot(mine.second, h.row(dout, query), h.depth);
      const float factor = keep_factor(drop, share, query, h.head, index);
      p = expf(score - a.log_sums[fact]);
      ds = p * (dp * factor - means[fact]);
      p *= factor;
    }
    const int there = span.queries - base < 32 ? span.queries - base : 32;
    for (int j = 0; j < there; ++j) {
      const int64_t query = span.q_first + base + j;
      const float each = __shfl_sync(0xffffffffu, ds, j);
      add_row(dk, each, h.row(a.q, query), h.depth);
      if (kRelative && a.relative.with_keys) {
        add_row(dk, each, distance_from(base + j), h.depth);
      }
      add_row(dv, __shfl_sync(0xffffffffu, p, j), h.row(dout, query), h.depth);
    }
  }
  store_sums(h.row(a.dk, row), dk, shape.scale, h.depth);
  store_sums(h.row(a.dv, row), dv, 1.0f, h.depth);
}

dim3 grid_of(const AttentionShape& shape, int64_t longest) {
  const int64_t blocks = ceil_div(longest, kPlainWarps);
  return dim3(static_cast<unsigned>(blocks > 0 ? blocks : 1), static_cast<unsigned>(shape.heads),
              static_cast<unsigned>(shape.sequences + 1));
}

}  // namespace

Status attention_plain(const AttentionShape& shape, const AttentionForward& arrays, Stream stream) {
  return by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto kernel = arrays.relative.distances ? plain_kernel<true, T> : plain_kernel<false, T>;
    kernel<<<grid_of(shape, shape.longest_q), kPlainWarps * 32, 0, stream_of(stream)>>>(
        shape, arrays, drop_share(arrays.dropout.p));
    return launched();
  });
}

Status attention_backward_plain(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream) {
  auto* means = static_cast<float*>(workspace);
  const bool relative = arrays.relative.distances != nullptr;
  const Status status = by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const DropShare share = drop_share(arrays.dropout.p);
    const auto queries = relative ? plain_query_kernel<true, T> : plain_query_kernel<false, T>;
    queries<<<grid_of(shape, shape.longest_q), kPlainWarps * 32, 0, stream_of(stream)>>>(
        shape, arrays, share, means);
    if (const Status failed = launched()) return failed;
    const auto keys = relative ? plain_key_kernel<true, T> : plain_key_kernel<false, T>;
    keys<<<grid_of(shape, shape.longest_k), kPlainWarps * 32, 0, stream_of(stream)>>>(shape, arrays,
                                                                                      share, means);
    return launched();
  });
  if (status || !relative || !arrays.ddistances) return status;
  return distance_gradients(shape, arrays, means, stream);
}

}  // namespace hone::kernels::cuda
