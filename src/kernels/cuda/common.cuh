#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

inline cudaStream_t stream_of(Stream stream) { return static_cast<cudaStream_t>(stream); }

/// Returns the status of the launch just made.
inline Status launched() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Calls body with a null pointer of dtype's storage type.
template <typename Body>
Status by_dtype(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f32:
      return body(static_cast<float*>(nullptr));
    case DType::bf16:
      return body(static_cast<__nv_bfloat16*>(nullptr));
    case DType::f16:
      return body(static_cast<__half*>(nullptr));
    default:
      return "a dtype that CUDA kernels do not take";
  }
}

template <typename T>
__device__ __forceinline__ float to_float(T value) {
  return static_cast<float>(value);
}

template <typename T>
__device__ __forceinline__ T from_float(float value) {
  if constexpr (sizeof(T) == 4) {
    return value;
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return __float2half_rn(value);
  }
}

/// Two neighbours in one register.
template <typename T>
__device__ __forceinline__ uint32_t pack_pair(float low, float high) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }
}

template <typename T>
__device__ __forceinline__ float2 unpack_pair(uint32_t pair) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  }
}

/// Eight elements, the unit of work of the kernels that stream rows: 16 or 32 bytes.
constexpr int kChunk = 8;

struct Chunk {
  float value[kChunk];
};

template <typename T>
__device__ __forceinline__ Chunk load_chunk(const T* from) {
  Chunk chunk;
  if constexpr (sizeof(T) == 4) {
    const float4 a = *reinterpret_cast<const float4*>(from);
    const float4 b = *reinterpret_cast<const float4*>(from + 4);
    chunk = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
  } else {
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    const uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = unpack_pair<T>(word[i]);
      chunk.value[2 * i] = pair.x;
      chunk.value[2 * i + 1] = pair.y;
    }
  }
  return chunk;
}

template <typename T>
__device__ __forceinline__ void store_chunk(T* to, const Chunk& chunk) {
  const float* v = chunk.value;
  if constexpr (sizeof(T) == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
    *reinterpret_cast<float4*>(to + 4) = make_float4(v[4], v[5], v[6], v[7]);
  } else {
    *reinterpret_cast<uint4*>(to) = make_uint4(pack_pair<T>(v[0], v[1]), pack_pair<T>(v[2], v[3]),
                                               pack_pair<T>(v[4], v[5]), pack_pair<T>(v[6], v[7]));
  }
}

/// Loads the chunk that starts at column `at` of a row of `width`; columns behind the row read as
/// 0. Where kAligned, rows are whole chunks, aligned to 16 bytes.
template <bool kAligned, typename T>
__device__ __forceinline__ Chunk load_columns(const T* row, int at, int width) {
  if constexpr (kAligned) {
    return load_chunk(row + at);
  } else {
    Chunk chunk;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) chunk.value[i] = at + i < width ? to_float(row[at + i]) : 0.0f;
    return chunk;
  }
}

template <bool kAligned, typename T>
__device__ __forceinline__ void store_columns(T* row, int at, int width, const Chunk& chunk) {
  if constexpr (kAligned) {
    store_chunk(row + at, chunk);
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (at + i < width) row[at + i] = from_float<T>(chunk.value[i]);
    }
  }
}

inline bool aligned16(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

}  // namespace hone::kernels::cuda
