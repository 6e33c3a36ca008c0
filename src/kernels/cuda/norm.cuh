#pragma once

#include <type_traits>

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/layer_norm.h"

namespace hone::kernels::cuda {

/// A block of the norm kernels has this many warps; a row takes kWarps of its warps, a lane kChunks
/// chunks of the row.
constexpr int kNormWarps = 4;

template <int kChunks_, int kWarps_, bool kAligned_>
struct NormLayout {
  static constexpr int kChunks = kChunks_;
  static constexpr int kWarps = kWarps_;
  static constexpr bool kAligned = kAligned_;
  static constexpr int kRows = kNormWarps / kWarps;  ///< rows of a block at a time

  /// The first column of the lane's i-th chunk.
  static __device__ __forceinline__ int column(int i) {
    const int lane = static_cast<int>(threadIdx.x % (32 * kWarps));
    return (lane + i * 32 * kWarps) * kChunk;
  }
  /// Gives a column to read in place of one behind the row, so that lanes without columns need no
  /// branch: a load behind a branch waits for the one before it.
  static __device__ __forceinline__ int readable(int at, int width) {
    return kAligned && at >= width ? 0 : at;
  }
  static __device__ __forceinline__ int row() {
    return static_cast<int>(threadIdx.x / (32 * kWarps));
  }
  /// Gives two sums over the row to all of its lanes. All threads of the block call it.
  static __device__ __forceinline__ float2 row_sums(float a, float b) {
    a = warp_sum(a);
    b = warp_sum(b);
    if constexpr (kWarps > 1) {
      __shared__ float2 sums[kNormWarps];
      const int warp = static_cast<int>(threadIdx.x / 32);
      __syncthreads();
      if (threadIdx.x % 32 == 0) sums[warp] = make_float2(a, b);
      __syncthreads();
      a = b = 0.0f;
#pragma unroll
      for (int i = 0; i < kWarps; ++i) {
        a += sums[row() * kWarps + i].x;
        b += sums[row() * kWarps + i].y;
      }
    }
    return make_float2(a, b);
  }
};

/// Calls body with the layout for rows of `width` that are whole chunks.
template <typename Body>
Status by_aligned_layout(int64_t width, const Body& body) {
  if (width <= 256) return body(NormLayout<1, 1, true>());
  if (width <= 512) return body(NormLayout<2, 1, true>());
  if (width <= 768) return body(NormLayout<3, 1, true>());
  if (width <= 1024) return body(NormLayout<4, 1, true>());
  if (width <= 2048) return body(NormLayout<4, 2, true>());
  return body(NormLayout<4, 4, true>());
}

/// Calls body with the layout for rows of `width`; where `aligned`, rows are whole chunks.
template <typename Body>
Status by_norm_layout(int64_t width, bool aligned, const Body& body) {
  if (width > kMaxNormWidth) return "a norm over more than 4096 elements";
  if (aligned) return by_aligned_layout(width, body);
  if (width <= 1024) return body(NormLayout<4, 1, false>());
  if (width <= 2048) return body(NormLayout<4, 2, false>());
  return body(NormLayout<4, 4, false>());
}

}  // namespace hone::kernels::cuda
