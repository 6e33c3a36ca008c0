#include "kernels/cuda/scale.h"

#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename T>
__global__ void scale_kernel(const T* x, int64_t count, float factor, T* y) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    Chunk c = load_part<kAligned>(x + at, there);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) c.value[j] *= factor;
    store_part<kAligned>(y + at, there, c);
  });
}

}  // namespace

Status scale(DType dtype, const void* x, int64_t count, float factor, void* y, Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto kernel =
        aligned16(x) && aligned16(y) ? scale_kernel<true, T> : scale_kernel<false, T>;
    kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
        static_cast<const T*>(x), count, factor, static_cast<T*>(y));
    return launched();
  });
}

}  // namespace hone::kernels::cuda
