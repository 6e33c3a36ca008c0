#include "kernels/cuda/add.h"

#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename T>
__global__ void add_kernel(const T* a, const T* b, int64_t count, T* out) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    const Chunk x = load_part<kAligned>(a + at, there);
    Chunk y = load_part<kAligned>(b + at, there);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) y.value[j] += x.value[j];
    store_part<kAligned>(out + at, there, y);
  });
}

}  // namespace

Status add(DType dtype, const void* a, const void* b, int64_t count, void* out, Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = aligned16(a) && aligned16(b) && aligned16(out);
    const auto kernel = aligned ? add_kernel<true, T> : add_kernel<false, T>;
    kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
        static_cast<const T*>(a), static_cast<const T*>(b), count, static_cast<T*>(out));
    return launched();
  });
}

}  // namespace hone::kernels::cuda
