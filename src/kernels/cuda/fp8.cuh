#pragma once

#include <cuda_fp8.h>

#include "kernels/cuda/norm.cuh"

namespace hone::kernels::cuda {

constexpr float kLargestFp8 = 448.0f;

/// Gives the largest value of a row to all of its lanes. All threads of the block call it.
template <typename Layout>
__device__ __forceinline__ float row_max(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  if constexpr (Layout::kWarps > 1) {
    __shared__ float most[kNormWarps];
    __syncthreads();
    if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = value;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Layout::kWarps; ++i) {
      value = fmaxf(value, most[Layout::row() * Layout::kWarps + i]);
    }
  }
  return value;
}

/// Writes a row of whole chunks as fp8. All threads of the block call it; those with `there` write.
template <typename Layout>
__device__ __forceinline__ void store_fp8(const Chunk (&s)[Layout::kChunks], int64_t row, int width,
                                          bool there, uint8_t* bytes, float* scales) {
  float most = 0.0f;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    if (Layout::column(i) >= width) continue;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) most = fmaxf(most, fabsf(s[i].value[j]));
  }
  most = row_max<Layout>(most);
  if (!there) return;
  const float inverse = most > 0.0f ? kLargestFp8 / most : 0.0f;
  if (Layout::column(0) == 0) scales[row] = most * (1.0f / kLargestFp8);
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
    if (at >= width) continue;
    uint32_t words[2] = {};
#pragma unroll
    for (int j = 0; j < kChunk; j += 2) {
      const float2 pair = make_float2(s[i].value[j] * inverse, s[i].value[j + 1] * inverse);
      const uint32_t two = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
      words[j / 4] |= two << (j % 4 * 8);
    }
    *reinterpret_cast<uint2*>(bytes + row * width + at) = make_uint2(words[0], words[1]);
  }
}

}  // namespace hone::kernels::cuda
