#include "kernels/cuda/dropout.h"

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

/// A thread takes a chunk of a row.
template <bool kAligned, typename T>
__global__ void dropout_kernel(Dropout dropout, const T* x, int64_t rows, int width, T* y) {
  const Dropper drop(dropout);
  const int64_t chunks = (width + kChunk - 1) / kChunk;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * chunks; i += step) {
    const int64_t row = i / chunks;
    const int at = static_cast<int>(i % chunks) * kChunk;
    Chunk c = load_columns<kAligned>(x + row * width, at, width);
    if (drop.active) drop.apply(row, at, c);
    store_columns<kAligned>(y + row * width, at, width, c);
  }
}

}  // namespace

Status apply_dropout(const Dropout& dropout, DType dtype, const void* x, int64_t rows,
                     int64_t width, void* y, Stream stream) {
  if (rows == 0 || width == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = width % kChunk == 0 && aligned16(x) && aligned16(y);
    const auto kernel = aligned ? dropout_kernel<true, T> : dropout_kernel<false, T>;
    const int64_t chunks = rows * ceil_div(width, kChunk);
    kernel<<<stream_blocks(chunks * kChunk), kStreamThreads, 0, stream_of(stream)>>>(
        dropout, static_cast<const T*>(x), rows, static_cast<int>(width), static_cast<T*>(y));
    return launched();
  });
}

}  // namespace hone::kernels::cuda
