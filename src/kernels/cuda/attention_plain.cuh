#pragma once

#include "kernels/cuda/attention.cuh"

/// This file has what the plain attention kernels share: a warp takes a row of one head, its lanes
/// keys or channels.
namespace hone::kernels::cuda {

constexpr int kPlainWarps = 4;
constexpr int kMaxDepth = 256;
constexpr int kPerLane = kMaxDepth / 32;

/// A warp's vectors in shared memory, with which the scores are products.
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

/// Gives the place of a query in its sequence.
__device__ __forceinline__ int64_t place_of(const RelativePositions& relative, int64_t q_first,
                                            int query) {
  return relative.q_positions ? relative.q_positions[q_first + query] : query;
}

/// Gives the embedding of the distance from a query to key 0; to key j it lies j rows before that.
__device__ __forceinline__ const float* first_distance(const RelativePositions& relative,
                                                       int64_t place, int depth) {
  return relative.distances + (place + relative.positions - 1) * depth;
}

/// Computes a . b, and with relative positions e . (of_a a + of_b b).
template <bool kRelative, typename T>
__device__ __forceinline__ float score_of(const float* a, const T* b, const float* e, float of_a,
                                          float of_b, int depth) {
  if constexpr (kRelative) {
    float sum = 0.0f;
    for (int i = 0; i < depth; ++i) {
      const float other = to_float(b[i]);
      sum = fmaf(a[i], other, fmaf(e[i], of_a * a[i] + of_b * other, sum));
    }
    return sum;
  } else {
    return dot(a, b, depth);
  }
}

/// Computes sums += weight * row over the lane's channels.
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

/// Gives a key's factor: 0 or 1 / (1 - p).
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

}  // namespace hone::kernels::cuda
