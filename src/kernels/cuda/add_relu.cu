#include "kernels/cuda/add_relu.h"

#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename T>
__global__ void add_relu_kernel(const T* a, const T* b, int64_t count, T* y) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    Chunk sum = load_part<kAligned>(a + at, there);
    if (b) {
      const Chunk more = load_part<kAligned>(b + at, there);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum.value[j] += more.value[j];
    }
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum.value[j] = sum.value[j] < 0.0f ? 0.0f : sum.value[j];
    store_part<kAligned>(y + at, there, sum);
  });
}

template <bool kAligned, typename T>
__global__ void relu_backward_kernel(const T* dy, const T* y, int64_t count, T* dx) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    Chunk own = load_part<kAligned>(dy + at, there);
    const Chunk out = load_part<kAligned>(y + at, there);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) own.value[j] = out.value[j] > 0.0f ? own.value[j] : 0.0f;
    store_part<kAligned>(dx + at, there, own);
  });
}

}  // namespace

Status add_relu(DType dtype, const void* a, const void* b, int64_t count, void* y, Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = aligned16(a) && aligned16(b) && aligned16(y);
    const auto kernel = aligned ? add_relu_kernel<true, T> : add_relu_kernel<false, T>;
    kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
        static_cast<const T*>(a), static_cast<const T*>(b), count, static_cast<T*>(y));
    return launched();
  });
}

Status relu_backward(DType dtype, const void* dy, const void* y, int64_t count, void* dx,
                     Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = aligned16(dy) && aligned16(y) && aligned16(dx);
    const auto kernel = aligned ? relu_backward_kernel<true, T> : relu_backward_kernel<false, T>;
    kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
        static_cast<const T*>(dy), static_cast<const T*>(y), count, static_cast<T*>(dx));
    return launched();
  });
}

}  // namespace hone::kernels::cuda
