#pragma once

#include "kernels/cuda/common.cuh"

/// Kernels that go over flat arrays once: a thread takes chunks, the tail goes by elements.
namespace hone::kernels::cuda {

constexpr int kStreamThreads = 256;
/// This many blocks fill any card eight times over; the rest of the work goes round.
constexpr int64_t kStreamBlocks = 132 * 8 * 2;

template <bool kAligned, typename Body>
__device__ __forceinline__ void for_chunks(int64_t count, const Body& body) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x * kChunk;
  for (int64_t at = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kChunk; at < count;
       at += step) {
    body(at, count - at < kChunk ? static_cast<int>(count - at) : kChunk);
  }
}

/// Loads a chunk of a flat array of which `there` elements exist.
template <bool kAligned, typename T>
__device__ __forceinline__ Chunk load_part(const T* from, int there) {
  if (kAligned && there == kChunk) return load_chunk(from);
  Chunk chunk;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) chunk.value[i] = i < there ? to_float(from[i]) : 0.0f;
  return chunk;
}

template <bool kAligned, typename T>
__device__ __forceinline__ void store_part(T* to, int there, const Chunk& chunk) {
  if (kAligned && there == kChunk) {
    store_chunk(to, chunk);
    return;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (i < there) to[i] = from_float<T>(chunk.value[i]);
  }
}

inline unsigned stream_blocks(int64_t count) {
  const int64_t blocks = ceil_div(count, int64_t{kStreamThreads} * kChunk);
  return static_cast<unsigned>(blocks < kStreamBlocks ? blocks : kStreamBlocks);
}

}  // namespace hone::kernels::cuda
